/** Lets promises that were settled be heard. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
