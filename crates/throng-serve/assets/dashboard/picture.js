// Pictures of gray values, with what stands out of the noise in colour.

/// Draws a picture of the server's (width, height, pixels, significant) on a canvas. With `mark`, signal is in colour and noise is
/// darker; without, all is gray.
export function draw(canvas, picture, mark) {
  const pixels = bytes(picture.pixels);
  const signal = picture.significant ? bytes(picture.significant) : null;
  const missing = picture.missing ? bytes(picture.missing) : null;
  canvas.width = picture.width;
  canvas.height = picture.height;
  const image = new ImageData(picture.width, picture.height);
  for (let at = 0; at < pixels.length; at++) {
    const light = pixels[at];
    // Nothing is known of a pixel that is missing: it is drawn as neither dark nor lit.
    const [r, g, b] = missing && missing[at] ? [96, 104, 128] : !mark || !signal ? [light, light, light] : signal[at] ? [light * 0.45, 60 + light * 0.76, 40 + light * 0.6] : [light * 0.72, light * 0.72, light * 0.76];
    image.data.set([r, g, b, 255], 4 * at);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
