/** Seeds of windows whose tenants ask at their own pace. */
export const SEEDS: readonly number[] = Array.from({ length: 20 }, (_, i) => 1 + i)
