/** The links of a member of a {@link LinkedList}: its neighbours. Only the list writes them. */
export interface Linked<N> {
  next: N | undefined
  previous: N | undefined
}

/**
 * A doubly linked list whose links lie in its members: adding at the end and deleting anywhere are O(1), and allocate
 * nothing.
 */
export class LinkedList<N extends Linked<N>> {
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
