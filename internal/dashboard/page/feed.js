// follow receives the stream of the server, and calls picture with a difference from nothing,
// change with a difference from what was received before, and status with a problem or "".

export function follow({ picture, change, status }) {
  const source = new EventSource("stream");
  source.addEventListener("picture", (event) => picture(JSON.parse(event.data)));
  source.addEventListener("change", (event) => change(JSON.parse(event.data)));
  source.addEventListener("status", (event) => status(JSON.parse(event.data).problem));
  source.addEventListener("error", () => {
    status(source.readyState === EventSource.CLOSED ? "allot has ended: reload the page" : "allot does not respond");
  });
  source.addEventListener("open", () => status(""));
}
