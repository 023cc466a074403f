import SlideshowModel

/// A character's place on the screen; the first column and row are 0.
package struct Cell: Sendable, Hashable {
  package var column: Int
  package var row: Int

  package init(column: Int, row: Int) {
    self.column = column
    self.row = row
  }
}

/// A terminal's report about the mouse, by xterm's protocols 1000 and 1006: the left button and the wheel.
package struct MouseReport: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case press, release, wheelUp, wheelDown
  }

  package var kind: Kind
  package var cell: Cell

  package init(_ kind: Kind, _ cell: Cell) {
    self.kind = kind
    self.cell = cell
  }

  /// Reads button, column and row, which count from 1; nil for other buttons, motion, and invalid reports.
  init?(parameters: [Int], isRelease: Bool) {
    guard parameters.count == 3, parameters[1] > 0, parameters[2] > 0 else { return nil }
    // The bits 4, 8 and 16 are pressed keys; 32 is motion.
    switch (parameters[0] & 0b110_0011, isRelease) {
    case (0, false): kind = .press
    case (0, true), (3, true): kind = .release
    case (64, false): kind = .wheelUp
    case (65, false): kind = .wheelDown
    default: return nil
    }
    cell = Cell(column: parameters[1] - 1, row: parameters[2] - 1)
  }
}

/// A gesture with the mouse.
package enum MouseGesture: Sendable, Hashable {
  /// A click; the number is 1 for the first in quick succession, 2 for the second, and so on.
  case click(Int, Cell)
  case drag(from: Cell, to: Cell)
  case wheelUp, wheelDown
}

/// Makes gestures from a terminal's reports.
package struct MouseGestures: Sendable {
  private var pressed: Cell?
  private var lastClick: (cell: Cell, count: Int, time: ContinuousClock.Instant)?
  /// The columns and rows over which a hand may move the mouse between press and release of a click.
  private static let (unsteadyColumns, unsteadyRows) = (2, 1)

  package init() {}

  /// Takes a report at its time.
  package mutating func take(_ report: MouseReport, at time: ContinuousClock.Instant) -> MouseGesture? {
    switch report.kind {
    case .wheelUp: return .wheelUp
    case .wheelDown: return .wheelDown
    case .press:
      pressed = report.cell
      return nil
    case .release:
      guard let start = pressed else { return nil }
      pressed = nil
      guard Self.isSamePlace(start, report.cell) else { return .drag(from: start, to: report.cell) }
      return click(start, time)
    }
  }

  private mutating func click(_ cell: Cell, _ time: ContinuousClock.Instant) -> MouseGesture {
    var count = 1
    if let lastClick, Self.isSamePlace(lastClick.cell, cell),
      lastClick.time.duration(to: time) < SlideshowState.doubleClickTime
    {
      count = lastClick.count + 1
    }
    lastClick = (cell, count, time)
    return .click(count, cell)
  }

  private static func isSamePlace(_ one: Cell, _ other: Cell) -> Bool {
    abs(one.column - other.column) <= unsteadyColumns && abs(one.row - other.row) <= unsteadyRows
  }
}
