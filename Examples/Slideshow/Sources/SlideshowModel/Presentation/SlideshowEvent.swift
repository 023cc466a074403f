/// What happens to the slideshow.
package enum SlideshowEvent: Sendable {
  case started
  case key(Key)
  case command(SlideshowCommand)
  /// The picture was clicked, or tapped: for the first, the second, … time in quick succession.
  case click(Int)
  /// The picture was dragged so far, in points, and let go.
  case swipe(x: Double, y: Double)
  case resized(Viewport)
  /// The slides came, or did not, for the request of this number.
  case slides(Int, Result<ServedSlideshow, SlideshowError>)
  /// Bytes of a picture came.
  case progress(PictureRequest, completed: Int64, total: Int64?)
  /// A picture came, or did not.
  case picture(PictureRequest, Result<ShownPicture, PictureError>)
  /// So many pictures came from here and there.
  case counted(LoadStatistics)
  /// The time is over.
  case waited(Wait)
  /// Something that people should know, and that hinders nothing.
  case warning(String)
}

/// What the user wants.
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
  case reload
  case beginTitle
  /// Keeps the title as it was edited. An empty one gives the service's back.
  case keepTitle(String)
  case dropTitle
  /// Takes away what was told beside the picture.
  case dismissNotice
  case quit
}

/// What is to be done about it.
package enum SlideshowEffect: Sendable, Hashable {
  /// Fetches the slides; whoever fetches them already gives up.
  case loadSlides(Int)
  /// Fetches the picture that is to be seen; whoever fetches another one for that gives up.
  case loadPicture(PictureRequest)
  /// Fetches these before they are wanted, in this order; of those for which that was asked before, no other is needed.
  case prefetch([PictureRequest])
  /// Forgets pictures and failures, so that they are asked for again.
  case forgetPictures
  case wait(Wait, Duration)
  case save(KeptState)
  case quit
}

/// What is waited for. Of each kind, the one with the latest number counts.
package enum Wait: Sendable, Hashable {
  /// The next look at the service, after the request for slides of this number.
  case poll(Int)
  /// Whether a click is followed by another one.
  case click(Int)
}
