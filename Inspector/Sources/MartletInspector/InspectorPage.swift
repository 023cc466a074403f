@_spi(Toolkit) import MartletObservation
import MartletSemantics
import MartletServer

/// The page: a single document, made of the files in `Page`, that loads nothing from elsewhere.
enum InspectorPage {
  /// Answers with the page. Its policy allows only its own style and script, and pictures that the script makes.
  static func reply() -> Reply {
    let nonce = InspectorKey().text
    let parts = [
      ("NONCE", nonce), ("LEGEND", legend), ("STYLE", Waterfall.style + "\n" + text(PackageResources.style_css)),
      ("SCRIPT", scripts.map(text).joined(separator: "\n")),
    ]
    let page = parts.reduce(text(PackageResources.page_html)) { $0.replacing("{{\($1.0)}}", with: $1.1) }
    var reply = Reply(fields: [.contentType: "text/html; charset=utf-8"], content: Data(page.utf8))
    InspectorRoutes.protect(
      &reply,
      policy: """
        default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; \
        img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
        """)
    return reply
  }

  /// The last one begins to run the page.
  private static let scripts = [
    PackageResources.json_js, PackageResources.resend_js, PackageResources.details_js, PackageResources.table_js,
    PackageResources.page_js,
  ]

  private static let legend = Waterfall.legend
    .map { "<span><i class=\"\($0.lowercased())\"></i>\($0)</span>" }.joined(separator: " ")

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
