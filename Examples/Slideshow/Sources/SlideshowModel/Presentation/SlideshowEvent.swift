package import MartletImages

/// An event of the slideshow.
package enum SlideshowEvent: Sendable {
  case started
  case key(Key)
  case command(SlideshowCommand)
  /// The picture was clicked or tapped. The number is 1 for the first click in quick succession, 2 for the second, and
  /// so on. The place is 0 at its left edge and 1 at its right one.
  case click(Int, at: Double)
  /// The picture was dragged by this distance, in points, and released.
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
  /// Changes the mark of a slide; by default that of the current one.
  case toggleFavorite(SlideID?)
  case fullScreen(Bool)
  /// Starts or stops showing one slide after another.
  case autoplay(Bool)
  /// Shows help or details; nil closes them.
  case panel(SlideshowState.Panel?)
  case reload
  case beginTitle
  /// Keeps the edited title. An empty one restores the service's.
  case keepTitle(String)
  case dropTitle
  /// Removes the displayed notice.
  case dismissNotice
  case quit
}

/// An effect of an event, which the presenter performs.
package enum SlideshowEffect: Sendable, Hashable {
  /// Fetches the slides. An earlier fetch of them is cancelled.
  case loadSlides(Int)
  /// Fetches the picture to show. An earlier fetch of one is cancelled.
  case loadPicture(PictureRequest)
  /// Fetches these pictures ahead, in this order. Earlier prefetches of other pictures are cancelled.
  case prefetch([PictureRequest])
  /// Fetches these thumbnails for the list. Earlier fetches of other thumbnails are cancelled.
  case loadThumbnails([PictureRequest])
  /// Removes pictures and failures from memory, so that pictures are requested again.
  case forgetPictures
  case wait(Wait, Duration)
  case save(KeptState)
  case quit
}

/// The purpose of a wait. Of each kind, only the one with the latest number counts.
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
