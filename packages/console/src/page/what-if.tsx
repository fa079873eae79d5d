import type { JSX } from 'preact'
export function WhatIf(_: Record<string, unknown>): JSX.Element | null {
  return null
}
