/// What the server calls a slide: a number or a text. The same text is the same slide, however it is written.
///
/// It is decoded, never invented, so that a slide is still the same one after a reload, and its favourite mark with it.
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
