/** A larger copy, the new part filled with `value`. */
export function grown<A extends Float64Array | Int32Array | Uint8Array>(array: A, length: number, value: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.fill(value, array.length)
  larger.set(array)
  return larger
}
