// Bytes out of the page's elements: base64, unpacked, as columns of numbers.

/** The bytes of an element, unpacked; null if it is not in the page yet. */
async function unpackedElement(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const text = atob(element.textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A column of so many numbers: seven bits a byte, the lowest first. */
function column(bytes, start, length, count, Type) {
  const numbers = new Type(count);
  const end = start + length;
  let at = start;
  for (let i = 0; i < count; i++) {
    let number = 0;
    let scale = 1;
    while (at < end) {
      const byte = bytes[at++];
      number += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 128;
    }
    numbers[i] = number;
  }
  return numbers;
}

/** Numbers near zero are short, whatever their sign. */
function signed(number) {
  return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
}
