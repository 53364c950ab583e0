import type { StreamEnd, StreamGeneration, StreamReorg, UnrankedPool, UnrankedPosition } from "./schema.js";

/** What a stream follows: one of the three. */
export interface StreamQuery {
  owner?: string;
  /** Up to 100 ids, such as 1-77: chain id and position id. */
  positions?: string[];
  /** Up to 100 ids, such as 1-0x…. */
  pools?: string[];
  /** The event to go on after: of an earlier stream, or the generations of an answer. Without it the stream begins now. */
  lastEventId?: string;
}

export type RowEvent = "opened" | "closed" | "changed" | "in_range" | "out_of_range";

/** An event of a stream. */
export type StreamEvent =
  | { event: RowEvent; id: string; data: UnrankedPosition | UnrankedPool }
  | { event: "reorg"; id: string; data: StreamReorg }
  | { event: "generation" | "reset"; id: string; data: StreamGeneration }
  | { event: "end"; id: ""; data: StreamEnd };

/** How long a stream may be silent, in milliseconds: three times the node's comments. */
const SILENCE_MS = 45_000;

/** The events of a body, until it ends or is silent. `heard` is called for what comes, comments too. */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>, heard: () => void,
): AsyncGenerator<StreamEvent, void, void> {
  const reader = body.getReader();
  const text = new TextDecoder();
  try {
    for (let rest = ""; ;) {
      const { done, value } = await withinSilence(reader.read());
      if (done) return;
      heard();
      const blocks = (rest + text.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parse(block: string): StreamEvent | null {
  const fields: Record<string, string> = {};
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
  }
  if (!fields.event || fields.data === undefined) return null; // a comment
  return { event: fields.event, id: fields.id ?? "", data: JSON.parse(fields.data) } as StreamEvent;
}

function withinSilence<T>(read: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const silent = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the stream is silent")), SILENCE_MS);
  });
  return Promise.race([read, silent]).finally(() => clearTimeout(timer));
}
