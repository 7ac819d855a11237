// A page that fails does not take the rest with it.
import { Component, type ComponentChildren } from 'preact';
import { Problem } from './basics';

export class Boundary extends Component<{ at: string; children: ComponentChildren }, { failed?: unknown; at?: string }> {
  static getDerivedStateFromError(failed: unknown) {
    return { failed };
  }

  componentDidUpdate(before: { at: string }) {
    if (before.at !== this.props.at && this.state.failed !== undefined) this.setState({ failed: undefined });
  }

  componentDidCatch(failed: unknown) {
    console.error(failed);
  }

  render() {
    if (this.state.failed === undefined) return this.props.children;
    return (
      <Problem>
        This page cannot be shown: {String(this.state.failed)}{' '}
        <button type="button" class="button" onClick={() => this.setState({ failed: undefined })}>Try again</button>
      </Problem>
    );
  }
}
