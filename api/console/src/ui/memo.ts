import { createElement, Component, type ComponentType } from 'preact';

/** memo draws a component again only when one of its properties is another. */
export function memo<P extends object>(of: (props: P) => ReturnType<typeof createElement> | null): ComponentType<P> {
  return class extends Component<P> {
    shouldComponentUpdate(next: P): boolean {
      return (Object.keys({ ...next, ...this.props }) as (keyof P)[]).some((k) => next[k] !== (this.props as P)[k]);
    }

    render() {
      return createElement(of as never, this.props as never);
    }
  } as unknown as ComponentType<P>;
}
