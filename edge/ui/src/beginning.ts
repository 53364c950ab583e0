// The beginning of an answer that is no JSON: of an export, or what a stream says first.

export interface Beginning {
  status: number;
  text: string;
  whole: boolean;
}

const LISTEN_MS = 3000; // a stream says at once where it begins, and then nothing for a while

/** Ask for an answer, and let go of it after so many characters: rows and minutes cost units. */
export async function beginningOf(target: string, headers: Record<string, string>, most: number): Promise<Beginning> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), LISTEN_MS);
  const read = { status: 0, text: "", whole: false };
  try {
    const answer = await fetch(target, { headers, signal: stop.signal });
    read.status = answer.status;
    const parts = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    while (read.text.length < most && !read.whole) {
      const { done, value } = await parts.read();
      read.text += value ?? "";
      read.whole = done;
    }
  } catch (error) {
    // What came before the time was up is shown.
    if (read.status === 0 || !stop.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  return read;
}
