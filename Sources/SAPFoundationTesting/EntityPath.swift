import MartletSemantics

/// The entity that a path below `/backend` names, as OData writes it: `/Images('it''s%20here')/$value`.
struct EntityPath {
  let set: String
  let key: String
  let isMedia: Bool

  enum Mistake: Error {
    /// There is no key, or no set with one.
    case noEntity
    /// The quotes of the key do not match: one within it has to be doubled (OData 4.01 URL conventions §5.1.1.6.1).
    case quotes
  }

  init(_ path: String) throws(Mistake) {
    let segments = path.split(separator: "/").dropFirst().map { PercentEncoding.pathSegment.decode($0) }
    guard let entity = segments.first, let open = entity.firstIndex(of: "("), entity.hasSuffix(")") else {
      throw .noEntity
    }
    set = String(entity[..<open])
    isMedia = segments.dropFirst().first == "$value"
    let text = String(entity[entity.index(after: open)...].dropLast())
    guard text.hasPrefix("'") else {
      key = text
      return
    }
    guard text.count > 1, text.hasSuffix("'") else { throw .quotes }
    let inner = String(text.dropFirst().dropLast())
    guard !inner.replacing("''", with: "").contains("'") else { throw .quotes }
    key = inner.replacing("''", with: "'")
  }
}
