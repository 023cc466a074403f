import CGTK
import SlideshowModel

/// One of the two pages that are turned: a picture, its progress, or the reason why it is missing.
@MainActor
final class PicturePage {
  let root: Widget
  private let picture: Widget
  private let spinner: Widget
  private let progress: Widget
  private let progressText: Widget
  private let symbol: Widget
  private let text: Widget
  private let why: Widget
  /// The request of the displayed picture, so that the same pixels are not set again.
  private var request: PictureRequest?

  /// Makes a page of this stack.
  ///
  /// - Parameter explain: called when the user requests details about a missing picture.
  static func make(in stack: Widget, explain: @escaping @MainActor () -> Void) -> PicturePage {
    Builder.build(WindowLayout.page) { builder in
      gtk_stack_add_child(stack.opaque, builder["page"].pointer)
      builder["why"].onClick(explain)
      return PicturePage(builder)
    }
  }

  private init(_ builder: Builder) {
    root = builder["page"]
    picture = builder["picture"]
    spinner = builder["spinner"]
    progress = builder["progress"]
    progressText = builder["progressText"]
    symbol = builder["symbol"]
    text = builder["text"]
    why = builder["why"]
  }

  func draw(_ state: SlideshowState) {
    if let hint = state.hint {
      if state.loading == .loading { showLoading(hint.joined(separator: "\n")) } else { showMessage(hint, state) }
    } else {
      switch state.picture {
      case .none: break
      case .loading(let completed, let total): showLoading(SlideshowState.progress(completed, total), completed, total)
      case .shown(let shown): show(shown, state)
      case .missing(let explanation): showMessage([explanation.sentence], state)
      }
    }
  }

  private func show(_ shown: ShownPicture, _ state: SlideshowState) {
    gtk_spinner_stop(spinner.opaque)
    gtk_picture_set_content_fit(picture.opaque, state.isFullScreen ? GTK_CONTENT_FIT_COVER : GTK_CONTENT_FIT_CONTAIN)
    if shown.request != request {
      request = shown.request
      picture.show(shown.bitmap)
      picture.setAccessibleLabel(shown.request.slide.caption)
    }
    root.show("picture")
  }

  private func showLoading(_ line: String, _ completed: Int64 = 0, _ total: Int64? = nil) {
    forgetPicture()
    gtk_spinner_start(spinner.opaque)
    progressText.setText(line)
    let fraction = total.map { $0 > 0 ? Double(completed) / Double($0) : 0 } ?? 0
    gtk_progress_bar_set_fraction(progress.opaque, min(1, fraction))
    progress.setVisible(fraction > 0)
    root.show("loading")
  }

  private func showMessage(_ lines: [String], _ state: SlideshowState) {
    forgetPicture()
    gtk_spinner_stop(spinner.opaque)
    let icon = state.slides.isEmpty ? "network-offline-symbolic" : "image-x-generic-symbolic"
    gtk_image_set_from_icon_name(symbol.opaque, icon)
    why.setVisible(state.loading != .loaded || !state.slides.isEmpty)
    text.setText(lines.joined(separator: "\n\n"))
    root.show("message")
  }

  private func forgetPicture() {
    request = nil
    picture.clearPicture()
  }
}
