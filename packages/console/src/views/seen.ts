import { useMemo, useRef } from 'preact/hooks'
import type { Frame } from '../frame.js'
import { colours, type Shares, type State, sharesOf, stateOf } from './view.js'

const COLOURS = 8

/** The shares from the frames, and each flow's colour, which stays the same as frames arrive. */
export function useSeen(frames: readonly Frame[]): {
  readonly shares: Shares
  readonly state: State
  readonly coloured: ReadonlyMap<string, number>
  readonly colourOf: (flow: string) => string
} {
  const shares = useMemo(() => sharesOf(frames), [frames])
  const state = useMemo(() => stateOf(frames, shares), [frames, shares])
  const coloured = useRef<ReadonlyMap<string, number>>(new Map())
  coloured.current = useMemo(() => colours(coloured.current, shares, COLOURS), [shares])
  const colourOf = (flow: string): string => {
    const index = coloured.current.get(flow)
    return index === undefined ? 'var(--others)' : `var(--c${index})`
  }
  return { shares, state, coloured: coloured.current, colourOf }
}
