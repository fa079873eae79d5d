/** The mean; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Three digits, and at most one behind the point: the precision of a mean of a few seeds. */
export function digits(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value.toFixed(1)
}

export function percent(part: number): string {
  if (part === 0) return '0'
  return (100 * part).toFixed(part < 0.1 ? 1 : 0)
}

/** Ours beside the published figure, if there is one. */
export function beside(ours: string, published: string | undefined): string {
  return `${ours} / ${published ?? '–'}`
}
