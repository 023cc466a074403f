/// When a body goes on, pauses or breaks off: a pure machine that the writer asks before every piece.
struct Pacing: Sendable {
  var drip: Drip?
  private var marks: [Mark] = []
  private var lastPause: Int64 = 0

  struct Drip: Sendable {
    let count: Int64
    let interval: Duration
  }

  enum Step: Sendable {
    /// Up to so many bytes may go.
    case write(Int64)
    /// Wait for the gate; without one, for ever.
    case hold(Gate?)
    /// Wait that long.
    case pause(Duration)
    /// The connection ends here.
    case end(Reply.Ending)
  }

  private struct Mark: Sendable {
    let offset: Int64
    let step: Step
  }

  /// Adds a step to be taken when so many bytes are out; steps at the same place are taken in the order of adding.
  mutating func add(_ step: Step, at offset: Int64) {
    let index = marks.firstIndex { $0.offset > offset } ?? marks.endIndex
    marks.insert(Mark(offset: offset, step: step), at: index)
  }

  /// What to do when so many bytes of the body are out.
  mutating func next(at offset: Int64) -> Step {
    if let mark = marks.first, mark.offset <= offset {
      marks.removeFirst()
      return mark.step
    }
    let room = (marks.first?.offset ?? .max) - offset
    guard let drip else { return .write(room) }
    let sincePause = offset - lastPause
    if sincePause >= drip.count {
      lastPause = offset
      return .pause(drip.interval)
    }
    return .write(min(room, drip.count - sincePause))
  }
}
