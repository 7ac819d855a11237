// What the events of a run say beyond the pictures: texts, arguments, results and tokens.
import type { Event } from '../api/types.gen';

export interface ModelCallFacts {
  index: number;
  text: string;
  model: string;
  inputTokens?: number;
  outputTokens?: number;
  cost: number;
  costKnown: boolean;
  done: boolean;
}

export interface ToolCallFacts {
  id: string;
  tool: string;
  index: number;
  args: unknown;
  result?: string;
}

export interface Facts {
  modelCalls: Map<number, ModelCallFacts>;
  toolCalls: Map<string, ToolCallFacts>;
}

/** callKey tells calls apart: providers may use an id again in another answer. */
export function callKey(index: unknown, id: unknown): string {
  return `${String(index)}/${String(id)}`;
}

export function nothing(): Facts {
  return { modelCalls: new Map(), toolCalls: new Map() };
}

type Data = Record<string, unknown>;
const text = (v: unknown) => (typeof v === 'string' ? v : '');
const number = (v: unknown) => (typeof v === 'number' ? v : 0);

/** fold returns the facts with what more events say. */
export function fold(before: Facts, events: Event[]): Facts {
  const out: Facts = { modelCalls: new Map(before.modelCalls), toolCalls: new Map(before.toolCalls) };
  for (const e of events) apply(out, e.type, e.data as Data);
  return out;
}

function apply(f: Facts, type: string, d: Data): void {
  const index = number(d.model_call_index);
  const model = (change: Partial<ModelCallFacts>) => {
    const old = f.modelCalls.get(index) ?? { index, text: '', model: '', cost: 0, costKnown: true, done: false };
    f.modelCalls.set(index, { ...old, ...change });
  };
  const id = text(d.tool_call_id);
  const tool = (change: Partial<ToolCallFacts>) => {
    const key = callKey(index, id);
    const old = f.toolCalls.get(key) ?? { id, tool: text(d.tool_name), index, args: undefined };
    f.toolCalls.set(key, { ...old, ...change });
  };
  switch (type) {
    case 'model.call.started':
      return model({ model: text(d.model) });
    case 'model.call.completed': {
      const usage = (d.usage ?? {}) as Data;
      const tokens = typeof usage.input === 'number' ? { inputTokens: usage.input, outputTokens: number(usage.output) } : {};
      return model({ ...tokens, cost: number(d.cost_micros_usd), costKnown: d.cost_known !== false, done: true, model: text(d.model) });
    }
    case 'assistant.text_complete':
      return model({ text: text(d.text) });
    case 'assistant.tool_call_proposed':
      return tool({ args: d.input, index });
    case 'tool.dispatch.settled':
      return tool({ result: text(d.result) || text(d.error) });
  }
}
