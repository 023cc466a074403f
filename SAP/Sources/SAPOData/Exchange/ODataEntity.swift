@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// An entity that a service has sent: the caller's value, and what the service says about it.
public struct ODataEntity<Value: Sendable>: Sendable {
  /// The value.
  public let value: Value
  /// The entity tag, for `ifMatch`; nil if the service has none.
  public let etag: String?
  /// The entity's own link: always in V2; in V4 only where it differs from the convention.
  public let id: ODataLink?
  /// The tag of the entity's media, for `ifMatch` when it is replaced.
  public let mediaETag: String?
  /// The media type of the entity's media; nil if it has none.
  public let mediaType: String?
}

/// One page of a set, or of the changes to it.
public struct ODataPage<Value: Sendable>: Sendable {
  /// The entities; of changes, the created and changed ones. Changes of V4 may also have added and deleted links
  /// between entities (`$link`, `$deletedLink`), which are left out: expand the relationship to see them.
  public let entities: [ODataEntity<Value>]
  /// The entities that were deleted or no longer belong to the set. Only among changes, and not in V2's JSON, which has
  /// no form for them.
  public let removed: [ODataRemoval]
  /// The number of all entities, if the query asked for it.
  public let count: Int?
  /// The link to the next page, resolved against the URL of the request; nil on the last one.
  public let nextLink: ODataLink?
  /// The link to later changes, on the last page.
  public let deltaLink: ODataLink?

  /// The values.
  public var values: [Value] { entities.map(\.value) }
}

/// An entity that a list of changes no longer has.
public struct ODataRemoval: Sendable, Hashable {
  /// The entity's link.
  public let id: ODataLink?
  /// `deleted`, or `changed` for an entity that no longer belongs to the set.
  public let reason: String?
  /// The properties that identify the entity, as text by name.
  public let key: [String: String]
}

/// What a service answers to a change.
public struct ODataReceipt: Sendable {
  /// The status.
  public let status: HTTPStatus
  /// The new entity tag; nil if the service sends none.
  public let etag: String?
  /// The link of a created entity.
  public let location: ODataLink?
  /// The service's messages, such as a warning (`sap-message`, `sap-messages`).
  public let messages: [ODataErrorPayload.Detail]
}

// Reading payloads: V2 wraps them in `d`, and V4 has annotations, whose `odata.` V4.01 leaves out.
extension ODataJSON {
  /// The content without V2's wrapper, whose only member is `d`: an entity of V4 may have a property of this name.
  var unwrapped: ODataJSON {
    guard case .object(let members) = self, members.count == 1, let content = members["d"] else { return self }
    return content
  }

  func annotation(_ name: String) -> ODataJSON? { first("@odata." + name, "@" + name) }

  /// Reads an entity; the tag in the payload counts before that of the head, which proxies change.
  func entity<Value: Decodable & Sendable>(_ type: Value.Type, etag: String? = nil) throws -> ODataEntity<Value> {
    let metadata = self["__metadata"]
    return ODataEntity(
      value: try decoded(type),
      etag: (metadata?["etag"] ?? annotation("etag"))?.text ?? etag,
      id: (metadata?["uri"] ?? annotation("editLink") ?? annotation("id"))?.text.map(ODataLink.init),
      mediaETag: (metadata?["media_etag"] ?? annotation("mediaEtag"))?.text,
      mediaType: (metadata?["content_type"] ?? annotation("mediaContentType"))?.text)
  }

  /// Decodes a result, which may be null.
  ///
  /// - Throws: `ODataError` if it is null, and the type cannot be.
  private func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do { return try ODataDecoder.decode(type, from: self) } catch is DecodingError where self == .null {
      throw ODataError(
        .invalidResponse, "the response has no value: if it may be null, read it as an optional type, such as Order?")
    }
  }

  /// Reads a page.
  ///
  /// - Parameter request: the URL of the request, for relative links; nil leaves them as they are.
  func page<Value: Decodable & Sendable>(_ type: Value.Type, at request: URL?) throws -> ODataPage<Value> {
    let content = unwrapped
    let base = content.base(at: request)
    let link = { (json: ODataJSON?) in json?.text.map { ODataLink(resolving: $0, against: base) } }
    guard let elements = (content.elements ?? content["value"]?.elements)?.filter({ !$0.isLink }) else {
      throw ODataError(.invalidResponse, "the response has no list of entities: use entity(_:at:_:) for one of them")
    }
    let removed = elements.filter(\.isRemoved)
    return ODataPage(
      entities: try elements.filter { !$0.isRemoved }.map { try $0.entity(type) },
      removed: removed.map(\.removal),
      count: (content["__count"] ?? content.annotation("count"))?.text.flatMap { Int($0) },
      nextLink: link(content["__next"] ?? content.annotation("nextLink")),
      deltaLink: link(content["__delta"] ?? content.annotation("deltaLink")))
  }

  /// Returns the URL for relative links: that of the payload's context, otherwise that of the request (OData 4.01 JSON
  /// Format §4.3). nil if the context has another origin, as behind a proxy: then links belong to the service's root.
  private func base(at request: URL?) -> URL? {
    guard let request, let context = annotation("context")?.text else { return request }
    guard let base = URL(reference: context, relativeTo: request) else { return request }
    return Origin(base) == Origin(request) ? base : nil
  }

  /// V4.01 marks a removed entity with `@removed`, V4.0 by its context.
  private var isRemoved: Bool {
    annotation("removed") != nil || hasContext("/$deletedEntity")
  }

  /// Whether this is an added or deleted link among V4's changes.
  private var isLink: Bool { hasContext("/$link") || hasContext("/$deletedLink") }

  private func hasContext(_ suffix: String) -> Bool { annotation("context")?.text?.hasSuffix(suffix) == true }

  private var removal: ODataRemoval {
    guard case .object(let members) = self else { return ODataRemoval(id: nil, reason: nil, key: [:]) }
    let key = members.filter { !$0.key.contains("@") && $0.key != "id" && $0.key != "reason" }
    return ODataRemoval(
      id: (annotation("id") ?? self["id"])?.text.map(ODataLink.init),
      reason: (annotation("removed")?["reason"] ?? self["reason"])?.text, key: key.compactMapValues(\.text))
  }

  /// Reads the result of a function or action: an entity, a value, or a collection, with or without a wrapper.
  func result<Value: Decodable>(_ type: Value.Type, of name: String) throws -> Value {
    var content = unwrapped
    guard case .object(let members) = content else { return try content.decoded(type) }
    let own = members.keys.filter { !$0.hasPrefix("@") && $0 != "__metadata" }
    // V2: {"d":{"Name":…}}; V4: {"@odata.context":…,"value":…}
    if own.count == 1, let only = own.first, only == "value" || only == name, let inner = members[only] {
      content = inner
    }
    return try content.decoded(type)
  }
}
