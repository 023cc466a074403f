package import MartletImages

/// An event of the slideshow.
package enum SlideshowEvent: Sendable {
  case started
  case key(Key)
  case command(SlideshowCommand)
  /// The picture was clicked, or tapped: for the first, the second, … time in quick succession, and where: 0 is its left edge,
  /// 1 its right one.
  case click(Int, at: Double)
  /// The picture was dragged so far, in points, and released.
  case swipe(x: Double, y: Double)
  case resized(Viewport)
  /// The request for slides with this number has ended, with slides or an error.
  case slides(Int, Result<ServedSlideshow, SlideshowError>)
  /// Bytes of a picture were received.
  case progress(PictureRequest, completed: Int64, total: Int64?)
  /// A request for a picture has ended, with a picture or an error.
  case picture(PictureRequest, Result<ShownPicture, PictureError>)
  /// A request for a thumbnail has ended; nil if there is no picture.
  case thumbnail(PictureRequest, Bitmap?)
  /// A wait has ended.
  case waited(Wait)
  /// A warning for the user; the slideshow continues.
  case warning(Explanation)
}

/// A command of the user.
package enum SlideshowCommand: Sendable, Hashable {
  case next, previous
  case show(SlideshowState.Tab)
  /// Makes a slide of the list the current one.
  case select(SlideID)
  /// Makes a slide of the list the current one, and presents it.
  case open(SlideID)
  /// Changes the mark of a slide; of the current one, if none is named.
  case toggleFavorite(SlideID?)
  case fullScreen(Bool)
  /// Starts showing one slide after another, or stops that.
  case autoplay(Bool)
  /// Shows help or details; nil closes them.
  case panel(SlideshowState.Panel?)
  case reload
  case beginTitle
  /// Keeps the title as it was edited. An empty one gives the service's back.
  case keepTitle(String)
  case dropTitle
  /// Removes the notice that is shown.
  case dismissNotice
  case quit
}

/// An effect of an event, which the presenter performs.
package enum SlideshowEffect: Sendable, Hashable {
  /// Fetches the slides; an earlier fetch of them is cancelled.
  case loadSlides(Int)
  /// Fetches the picture that is to be shown; an earlier fetch of one is cancelled.
  case loadPicture(PictureRequest)
  /// Fetches these pictures ahead, in this order; earlier prefetches that are not among them are cancelled.
  case prefetch([PictureRequest])
  /// Fetches these thumbnails for the list; earlier fetches of thumbnails that are not among them are cancelled.
  case loadThumbnails([PictureRequest])
  /// Removes pictures and failures from memory, so that pictures are requested again.
  case forgetPictures
  case wait(Wait, Duration)
  case save(KeptState)
  case quit
}

/// What a wait is for. Of each kind, only the one with the latest number counts.
package enum Wait: Sendable, Hashable {
  /// The next request to the service, after the request for slides of this number.
  case poll(Int)
  /// Whether a click is followed by another one.
  case click(Int)
  /// The next slide of the auto-play.
  case turn(Int)

  package enum Kind: Sendable, Hashable {
    case poll, click, turn
  }

  package var kind: Kind {
    switch self {
    case .poll: .poll
    case .click: .click
    case .turn: .turn
    }
  }
}
