/// A slide's id, from the server: a number or a text. A number equals its text.
///
/// It always comes from the server, so a slide keeps its identity and its favourite mark after a reload.
package struct SlideID: Sendable, Hashable, Codable, CustomStringConvertible {
  package let description: String

  package init(_ text: String) { description = text }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int.self) {
      description = String(number)
    } else {
      description = try container.decode(String.self)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
