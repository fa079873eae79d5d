/** What a chain links: its neighbours, written by the chain alone. */
export interface Link<N> {
  next: N | undefined
  previous: N | undefined
}

/** A doubly linked list whose links lie in its members: adding, and taking out anywhere, is O(1) without allocation. */
export class Chain<N extends Link<N>> {
  first: N | undefined = undefined
  last: N | undefined = undefined

  push(node: N): void {
    node.previous = this.last
    if (this.last === undefined) this.first = node
    else this.last.next = node
    this.last = node
  }

  delete(node: N): void {
    if (node.previous === undefined) this.first = node.next
    else node.previous.next = node.next
    if (node.next === undefined) this.last = node.previous
    else node.next.previous = node.previous
    node.next = undefined
    node.previous = undefined
  }
}
