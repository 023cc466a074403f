import MartletImages
import SlideshowModel

/// The list of the slides: one line for each, or several lines with a thumbnail if there is room.
struct SlideRows {
  private let frame: Frame
  /// The columns of a slide's heart.
  private let heartColumns: Range<Int>
  private var state: SlideshowState { frame.state }

  init(_ frame: Frame) {
    self.frame = frame
    let start = 2 + (frame.screen.thumbnail.map { $0.width + 1 } ?? 0)
    heartColumns = start..<start + 2
  }

  /// The slides that fit, with the current one among them.
  private var visible: Range<Int> {
    let count = max(1, frame.room / frame.screen.linesOfSlide)
    let first = max(0, min(state.index - count / 2, state.slides.count - count))
    return first..<min(state.slides.count, first + count)
  }

  var lines: [String] {
    guard let size = frame.screen.thumbnail else { return visible.map(line) }
    let lines = visible.flatMap { self.lines($0, size) }
    return lines.count < frame.room && hidden > 0 ? lines + [Style.dim("  … \(hidden) more")] : lines
  }

  private var hidden: Int { state.slides.count - visible.count }

  /// The slide in a line of the list, and whether a column is that of its heart; nil if there is none.
  func slide(at line: Int, column: Int) -> (slide: Slide, isHeart: Bool)? {
    let place = visible.lowerBound + line / frame.screen.linesOfSlide
    guard line >= 0, visible.contains(place) else { return nil }
    return (state.slides[place], heartColumns.contains(column) && line % frame.screen.linesOfSlide == 0)
  }

  // MARK: - A slide

  private func line(_ place: Int) -> String {
    let slide = state.slides[place]
    let titleWidth = max(8, min(36, frame.columns / 2 - 6))
    let title = DisplayText.cut(slide.title, to: titleWidth)
    let gap = String(repeating: " ", count: titleWidth - DisplayText.width(title) + 2)
    let start = "\(place == state.index ? "›" : " ") \(frame.heart(slide)) \(title)\(gap)"
    let text = DisplayText.cut(start + state.outcome(of: slide), to: frame.columns)
    return place == state.index ? Style.inverse(text) : text
  }

  /// The picture, and beside it title, description and result.
  private func lines(_ place: Int, _ size: PixelSize) -> [String] {
    let slide = state.slides[place]
    let isCurrent = place == state.index
    var text = ["\(frame.heart(slide)) \(slide.title)"]
    if !slide.description.isEmpty { text.append("  \(slide.description)") }
    text.append("  \(state.outcome(of: slide))")
    let width = frame.columns - heartColumns.lowerBound - 1
    return picture(of: slide, size).enumerated().map { number, picture in
      let words = DisplayText.cut(number < text.count ? text[number] : "", to: width)
      let padded = words + String(repeating: " ", count: max(0, width - DisplayText.width(words)))
      let styled = isCurrent && number < text.count ? Style.inverse(padded) : number == 0 ? words : Style.dim(words)
      return "\(isCurrent && number == 0 ? "›" : " ") \(picture) \(styled)"
    }
  }

  /// The thumbnail, in the common width and height.
  private func picture(of slide: Slide, _ size: PixelSize) -> [String] {
    let rows = frame.screen.linesOfSlide
    let empty = String(repeating: " ", count: size.width)
    guard let thumbnail = state.thumbnails[slide.id], let bitmap = thumbnail.bitmap else {
      let isMissing = state.thumbnails[slide.id] != nil
      return (0..<rows).map { $0 == rows / 2 ? DisplayText.centered(isMissing ? "▨" : "…", in: size.width) : empty }
    }
    let lines = HalfBlocks.lines(of: bitmap, in: size)
    return lines + Array(repeating: empty, count: max(0, rows - lines.count))
  }
}
