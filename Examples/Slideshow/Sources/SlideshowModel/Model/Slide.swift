/// One slide. The server must give an id or a file; everything else is optional.
package struct Slide: Sendable, Hashable, Identifiable {
  package var id: SlideID
  /// The title. If the server does not provide one, it is made from the file's name.
  package var title: String
  /// The name of the picture's file, in the server's spelling; nil for a slide without a picture.
  package var imageFileName: String?
  package var description: String
  package var isFavorite: Bool

  package init(
    id: SlideID, title: String? = nil, imageFileName: String? = nil, description: String = "", isFavorite: Bool = false
  ) {
    self.id = id
    self.title = title ?? Slide.title(of: imageFileName) ?? "Slide \(id)"
    self.imageFileName = imageFileName
    self.description = description
    self.isFavorite = isFavorite
  }

  /// `sunset-10.jpeg` becomes `Sunset 10`.
  private static func title(of fileName: String?) -> String? {
    guard let fileName else { return nil }
    let name = ImageFileName.withoutExtension(fileName)
    let words = name.map { $0 == "-" || $0 == "_" ? " " : $0 }
    guard let first = words.first else { return nil }
    return first.uppercased() + String(words.dropFirst())
  }
}

extension Slide: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, title, file, description, isFavorite
  }

  /// Decodes the members that exist. Default values are not sufficient for this: a synthesized initializer requires the
  /// keys.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let file = try container.decodeIfPresent(String.self, forKey: .file)
    let id = try container.decodeIfPresent(SlideID.self, forKey: .id)
    guard let id = id ?? file.map({ SlideID($0) }) else {
      throw DecodingError.keyNotFound(
        CodingKeys.id, .init(codingPath: container.codingPath, debugDescription: "a slide needs an id or a file"))
    }
    self.init(
      id: id,
      title: try container.decodeIfPresent(String.self, forKey: .title),
      imageFileName: file,
      description: try container.decodeIfPresent(String.self, forKey: .description) ?? "",
      isFavorite: try container.decodeIfPresent(Bool.self, forKey: .isFavorite) ?? false)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(title, forKey: .title)
    try container.encodeIfPresent(imageFileName, forKey: .file)
    try container.encode(description, forKey: .description)
    try container.encode(isFavorite, forKey: .isFavorite)
  }
}
