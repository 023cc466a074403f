extension CommandLineOptions {
  /// How the slideshow in the terminal is called.
  package static let terminalHelp = """
    slideshow: shows the slides of a web service in the terminal.

    usage: slideshow [--service URL --images URL] [--allow-insecure] [--state FILE] [--cache FILE] [--poll N]
           slideshow --offline
           slideshow --serve [--port N] [--rate N] [--photos FOLDER]

    \(options)
      --serve            only runs the demo service, until Ctrl-C
      --port N           its port: 8000 by default, 0 for a free one

    \(keys)

    Where standard output is no terminal, the slides are printed one a line.
    """

  /// How the slideshow in a window is called.
  package static let windowHelp = """
    slideshow-window: shows the slides of a web service in a window.

    usage: slideshow-window [--service URL --images URL] [--allow-insecure] [--state FILE] [--cache FILE] [--poll N]
           slideshow-window --offline

    \(options)

    \(keys)
    mouse: click next   double click full screen   drag to either side next
    """

  private static let options = """
      --service URL      the JSON of the slideshow     (or environment: SlideWebServiceUrl)
      --images URL       the folder of its pictures    (or environment: ImageBaseUrl)
                         Without both, a demo service is started and shown.
      --allow-insecure   lets plain http leave this computer
      --state FILE       where favourites and title are kept
                         (default: $XDG_STATE_HOME or ~/.local/state, martlet-slideshow/state.json)
      --cache FILE       where pictures are kept, for when the service cannot be reached
                         (default: $XDG_CACHE_HOME or ~/.cache, martlet-slideshow/cache.sqlite)
      --poll N           asks the service every N seconds whether the slides changed: 3 by default, 0 never
      --offline          shows the demo as it was shown last, without its service
      --photos FOLDER    what the demo service serves: pictures and their holidayslideshow.json
      --rate N           the most bytes that the demo service sends in a second
      --help             this text
    """

  private static let keys = """
    keys: → space n next   ← p previous   tab 1 2 list and preview   h favourite   f full screen
          t title   r reload   esc back   q quit
    """
}
