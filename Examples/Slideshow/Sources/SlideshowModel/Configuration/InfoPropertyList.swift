import MartletSemantics

/// The URLs in a property list, such as the `Info.plist` of applications on Apple's platforms, as XML or binary.
package struct InfoPropertyList: Sendable, Hashable {
  /// Its path.
  package let file: String
  private var urls: [SlideshowConfiguration.Key: String] = [:]

  /// The keys that are read; all others are allowed and ignored.
  private struct Content: Decodable {
    var urls: [SlideshowConfiguration.Key: String] = [:]

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: SlideshowConfiguration.Key.self)
      for key in SlideshowConfiguration.Key.allCases {
        urls[key] = try container.decodeIfPresent(String.self, forKey: key)
      }
    }
  }

  /// Reads a property list.
  ///
  /// - Throws: `unreadableInfoPropertyList`. A missing key is not an error here.
  package init(file: String) throws(SlideshowError) {
    self.file = file
    guard let data = try? Data(contentsOf: URL(filePath: file)) else {
      throw .unreadableInfoPropertyList(file: file, reason: "there is no such file, or it may not be read")
    }
    do { urls = try PropertyListDecoder().decode(Content.self, from: data).urls } catch {
      throw .unreadableInfoPropertyList(file: file, reason: Self.reason(error))
    }
  }

  /// The value of a key; nil if there is none.
  package subscript(key: SlideshowConfiguration.Key) -> String? { urls[key] }

  private static func reason(_ error: any Error) -> String {
    if case .typeMismatch(_, let context) = error as? DecodingError, let key = context.codingPath.first {
      return "\(key.stringValue) is not a string"
    }
    return "it is not a property list with a dictionary, XML or binary"
  }
}

extension SlideshowConfiguration.Key: CodingKey {}
