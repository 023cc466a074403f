/// The widgets in the form for GtkBuilder, and their style.
enum WindowLayout {
  static let window = """
    <interface><object class="GtkWindow" id="window">
      <property name="title">Slideshow</property>
      <property name="default-width">960</property>
      <property name="default-height">720</property>
      <child type="titlebar"><object class="GtkHeaderBar">
        <property name="title-widget"><object class="GtkStackSwitcher">
          <property name="stack">tabs</property>
          <accessibility><property name="label">Tabs</property></accessibility>
        </object></property>
        <child type="start"><object class="GtkButton" id="reload">
          <property name="icon-name">view-refresh-symbolic</property>
          <property name="tooltip-text">Load everything again (r)</property>
          <accessibility><property name="label">Load everything again</property></accessibility>
        </object></child>
        <child type="start"><object class="GtkButton" id="play">
          <property name="icon-name">media-playback-start-symbolic</property>
        </object></child>
        <child type="end"><object class="GtkButton" id="fullscreen">
          <property name="icon-name">view-fullscreen-symbolic</property>
          <property name="tooltip-text">Full screen (f)</property>
          <accessibility><property name="label">Full screen</property></accessibility>
        </object></child>
        <child type="end"><object class="GtkButton" id="help">
          <property name="label">?</property>
          <property name="tooltip-text">All keys (?)</property>
          <accessibility><property name="label">All keys</property></accessibility>
        </object></child>
        <child type="end"><object class="GtkButton" id="details">
          <property name="label">Details</property>
          <property name="tooltip-text">Details of the picture and the service (d)</property>
        </object></child>
      </object></child>
      <child><object class="GtkBox">
        <property name="orientation">vertical</property>
        <child><object class="GtkBox" id="remark">
          <property name="visible">0</property>
          <property name="spacing">12</property>
          <style><class name="remark"/></style>
          <child><object class="GtkImage" id="remarkSymbol">
            <property name="icon-name">network-offline-symbolic</property>
          </object></child>
          <child><object class="GtkLabel" id="remarkText">
            <property name="wrap">1</property>
            <property name="wrap-mode">word-char</property>
            <property name="xalign">0</property>
            <property name="hexpand">1</property>
          </object></child>
          <child><object class="GtkButton" id="remarkDetails">
            <property name="label">Details</property>
            <property name="valign">center</property>
          </object></child>
          <child><object class="GtkButton" id="dismiss">
            <property name="icon-name">window-close-symbolic</property>
            <property name="has-frame">0</property>
            <property name="valign">center</property>
            <accessibility><property name="label">Dismiss</property></accessibility>
          </object></child>
        </object></child>
        <child><object class="GtkOverlay">
          <property name="vexpand">1</property>
          <child><object class="GtkStack" id="tabs">
            <child><object class="GtkStackPage">
              <property name="name">manage</property>
              <property name="title">Manage</property>
              <property name="child">\(manage)</property>
            </object></child>
            <child><object class="GtkStackPage">
              <property name="name">present</property>
              <property name="title">Present</property>
              <property name="child">\(present)</property>
            </object></child>
          </object></child>
          <child type="overlay">\(panel)</child>
        </object></child>
        <child><object class="GtkBox" id="footer">
          <property name="spacing">12</property>
          <style><class name="footer"/><class name="dim-label"/></style>
          <child><object class="GtkLabel" id="status">
            <property name="ellipsize">end</property>
            <property name="xalign">0</property>
            <property name="hexpand">1</property>
          </object></child>
          <child><object class="GtkLabel" id="statistics">
            <property name="ellipsize">end</property>
            <property name="xalign">1</property>
          </object></child>
        </object></child>
      </object></child>
    </object></interface>
    """

  /// Help or details, over the rest of the content.
  private static let panel = """
    <object class="GtkBox" id="panel">
      <property name="visible">0</property>
      <property name="halign">center</property>
      <property name="valign">center</property>
      <property name="spacing">12</property>
      <style><class name="panel"/><class name="osd"/></style>
      <child><object class="GtkLabel" id="panelText">
        <property name="selectable">1</property>
        <property name="focusable">0</property>
        <property name="wrap">1</property>
        <property name="wrap-mode">word-char</property>
        <property name="max-width-chars">84</property>
        <property name="xalign">0</property>
        <style><class name="monospace"/></style>
      </object></child>
      <child><object class="GtkButton" id="closePanel">
        <property name="icon-name">window-close-symbolic</property>
        <property name="has-frame">0</property>
        <property name="valign">start</property>
        <property name="tooltip-text">Close (esc)</property>
        <accessibility><property name="label">Close</property></accessibility>
      </object></child>
    </object>
    """

  private static let manage = """
    <object class="GtkBox">
      <property name="orientation">vertical</property>
      <child><object class="GtkEntry" id="title">
        <property name="placeholder-text">The service's title</property>
        <property name="tooltip-text">The title of the slideshow (t). An empty one gives the service's back.</property>
        <accessibility><property name="label">Title of the slideshow</property></accessibility>
        <style><class name="title-2"/></style>
      </object></child>
      <child><object class="GtkStack" id="listing">
        <child><object class="GtkStackPage">
          <property name="name">list</property>
          <property name="child"><object class="GtkScrolledWindow">
            <property name="vexpand">1</property>
            <property name="hscrollbar-policy">never</property>
            <property name="child"><object class="GtkListBox" id="list">
              <property name="activate-on-single-click">0</property>
              <property name="selection-mode">browse</property>
              <property name="show-separators">1</property>
              <accessibility><property name="label">Slides</property></accessibility>
            </object></property>
          </object></property>
        </object></child>
        <child><object class="GtkStackPage">
          <property name="name">hint</property>
          <property name="child"><object class="GtkLabel" id="listHint">
            <property name="justify">center</property>
            <property name="wrap">1</property>
            <property name="wrap-mode">word-char</property>
            <property name="max-width-chars">60</property>
            <property name="vexpand">1</property>
          </object></property>
        </object></child>
      </object></child>
    </object>
    """

  private static let present = """
    <object class="GtkBox" id="present">
      <property name="orientation">vertical</property>
      <property name="focusable">1</property>
      <child><object class="GtkOverlay" id="stage">
        <property name="vexpand">1</property>
        <property name="hexpand">1</property>
        <child><object class="GtkDrawingArea" id="room"/></child>
        <child type="overlay"><object class="GtkStack" id="pages">
          <property name="transition-duration">250</property>
        </object></child>
        <child type="overlay"><object class="GtkButton" id="back">
          <property name="icon-name">go-previous-symbolic</property>
          <property name="halign">start</property>
          <property name="valign">center</property>
          <property name="tooltip-text">Previous slide (←); so does a click in the left third</property>
          <accessibility><property name="label">Previous slide</property></accessibility>
          <style><class name="turn"/><class name="circular"/><class name="osd"/></style>
        </object></child>
        <child type="overlay"><object class="GtkButton" id="next">
          <property name="icon-name">go-next-symbolic</property>
          <property name="halign">end</property>
          <property name="valign">center</property>
          <property name="tooltip-text">Next slide (→); so does a click on the picture</property>
          <accessibility><property name="label">Next slide</property></accessibility>
          <style><class name="turn"/><class name="circular"/><class name="osd"/></style>
        </object></child>
        <child type="overlay"><object class="GtkButton" id="heart">
          <property name="halign">end</property>
          <property name="valign">end</property>
          <property name="tooltip-text">Favourite (h)</property>
          <property name="label">♡</property>
          <style><class name="heart"/><class name="circular"/><class name="osd"/></style>
        </object></child>
      </object></child>
      <child><object class="GtkLabel" id="caption">
        <property name="ellipsize">end</property>
        <style><class name="caption-line"/></style>
      </object></child>
    </object>
    """

  /// One of the pages that are turned.
  static let page = """
    <interface><object class="GtkStack" id="page">
      <child><object class="GtkStackPage">
        <property name="name">picture</property>
        <property name="child"><object class="GtkPicture" id="picture"/></property>
      </object></child>
      <child><object class="GtkStackPage">
        <property name="name">loading</property>
        <property name="child"><object class="GtkBox">
          <property name="orientation">vertical</property>
          <property name="spacing">18</property>
          <property name="halign">center</property>
          <property name="valign">center</property>
          <child><object class="GtkSpinner" id="spinner">
            <property name="width-request">64</property>
            <property name="height-request">64</property>
            <accessibility><property name="label">Loading</property></accessibility>
          </object></child>
          <child><object class="GtkProgressBar" id="progress">
            <property name="width-request">260</property>
            <accessibility><property name="label">Loaded so far</property></accessibility>
          </object></child>
          <child><object class="GtkLabel" id="progressText">
            <property name="justify">center</property>
            <style><class name="dim-label"/></style>
          </object></child>
        </object></property>
      </object></child>
      <child><object class="GtkStackPage">
        <property name="name">message</property>
        <property name="child"><object class="GtkBox">
          <property name="orientation">vertical</property>
          <property name="spacing">18</property>
          <property name="halign">center</property>
          <property name="valign">center</property>
          <child><object class="GtkImage" id="symbol">
            <property name="icon-name">image-x-generic-symbolic</property>
            <property name="pixel-size">128</property>
            <property name="opacity">0.2</property>
            <accessibility><property name="label">No picture</property></accessibility>
          </object></child>
          <child><object class="GtkLabel" id="text">
            <property name="justify">center</property>
            <property name="wrap">1</property>
            <property name="wrap-mode">word-char</property>
            <property name="max-width-chars">60</property>
          </object></child>
          <child><object class="GtkButton" id="why">
            <property name="label">Details</property>
            <property name="halign">center</property>
          </object></child>
        </object></property>
      </object></child>
    </object></interface>
    """

  /// The size of a small picture in the list, in points.
  static let (thumbnailWidth, thumbnailHeight) = (84, 56)

  /// A slide in the list.
  static let row = """
    <interface><object class="GtkListBoxRow" id="row"><property name="child"><object class="GtkBox">
      <property name="spacing">12</property>
      <style><class name="slide-row"/></style>
      <child><object class="GtkButton" id="heart">
        <property name="label">♡</property>
        <property name="valign">center</property>
        <property name="has-frame">0</property>
        <property name="focusable">0</property>
        <style><class name="row-heart"/><class name="circular"/></style>
      </object></child>
      <child><object class="GtkPicture" id="thumbnail">
        <property name="width-request">\(thumbnailWidth)</property>
        <property name="height-request">\(thumbnailHeight)</property>
        <style><class name="thumbnail"/></style>
      </object></child>
      <child><object class="GtkBox">
        <property name="orientation">vertical</property>
        <property name="valign">center</property>
        <child><object class="GtkLabel" id="title">
          <property name="xalign">0</property>
          <property name="ellipsize">end</property>
        </object></child>
        <child><object class="GtkLabel" id="outcome">
          <property name="xalign">0</property>
          <property name="ellipsize">end</property>
          <style><class name="dim-label"/><class name="caption"/></style>
        </object></child>
      </object></child>
    </object></property></object></interface>
    """

  static let style = """
    .heart { font-size: 26px; min-width: 48px; min-height: 48px; padding: 0; margin: 16px; }
    .row-heart { font-size: 18px; min-width: 32px; min-height: 32px; padding: 0; }
    .turn { min-width: 40px; min-height: 40px; padding: 0; margin: 16px; opacity: 0.5; }
    .turn:hover, .turn:focus { opacity: 1; }
    .is-full .turn { opacity: 0.3; }
    .is-full .turn:hover { opacity: 1; }
    .panel { padding: 20px; border-radius: 12px; background-color: #303030; color: white; }
    .panel label { font-size: 13px; }
    .thumbnail { background-color: alpha(currentColor, 0.07); }
    .is-favorite { color: #f0426b; }
    .pulse-1 { animation: pulse-1 400ms ease-out; }
    .pulse-2 { animation: pulse-2 400ms ease-out; }
    @keyframes pulse-1 { 40% { transform: scale(1.35); } }
    @keyframes pulse-2 { 40% { transform: scale(1.35); } }
    .caption-line { padding: 10px 16px; font-size: larger; }
    .footer { padding: 4px 12px; font-size: smaller; }
    .remark { padding: 8px 16px; background-color: alpha(@warning_color, 0.25); }
    .slide-row { padding: 6px 8px; }
    entry.title-2 { margin: 12px; font-size: larger; font-weight: bold; }
    window.fullscreen { padding: 0; border: none; box-shadow: none; }
    .is-full { background-color: black; color: white; }
    """
}
