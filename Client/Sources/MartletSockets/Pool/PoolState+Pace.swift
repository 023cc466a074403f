// How fast connections are opened.
//
// Opening a connection takes several times as long as sending a request. After a pause of some milliseconds, many
// requests arrive at once. If each of them opened a connection before any of them was sent, the requests that arrive in
// the meantime would find no connection either, and open even more, until the limit of the host or for as long as a
// tenth of a second. So a turn of the caller's loop opens only a few connections. The next turn begins at once: it
// gives the waiting requests the connections that are ready by then, and opens a few more for the rest. No opening
// waits for time to pass, so a slow server gets all connections that it needs about as soon as otherwise.

extension PoolState {
  /// Whether one more connection may be opened in this turn.
  var mayOpenInTurn: Bool { openedInTurn < limits.openingsPerTurn }

  /// Lets a key open its connections in the next turn.
  mutating func postpone(_ entry: Int) {
    guard !entries[entry].isPostponed else { return }
    entries[entry].isPostponed = true
    postponed.append(entry)
  }

  /// Ends a turn of the caller's loop. First it opens the connections that earlier turns have postponed, if this turn
  /// has not opened enough others. If ``hasPostponed`` is true afterwards, the next turn has to begin at once.
  mutating func finishTurn() -> [Action] {
    guard hasOpenings else { return [] }
    var actions: [Action] = []
    var line: [Int] = []
    if mayOpenInTurn { swap(&line, &postponed) }
    // A key that needs more than this turn may open goes to the end of the line, behind those that were not served.
    for (index, entry) in line.enumerated() {
      guard mayOpenInTurn else {
        postponed.insert(contentsOf: line[index...], at: 0)
        break
      }
      entries[entry].isPostponed = false
      openMore(entry, &actions)
    }
    openedInTurn = 0
    return actions
  }

  /// Whether connections were opened in this turn, or are to be opened.
  var hasOpenings: Bool { openedInTurn > 0 || hasPostponed }

  /// Whether connections are to be opened in the next turn.
  var hasPostponed: Bool { !postponed.isEmpty }
}
