import MartletSemantics
import MartletTesting

/// The settings of an app (`global/…`), of its users (`currentuser/…`) and of their devices
/// (`currentuser/devices/DEVICE/…`): trees of JSON. `overwrite=true` adds what the levels above have.
struct SettingsLevels: Sendable {
  private var application = JSONTree.object([:])
  private var users: [String: JSONTree] = [:]
  private var devices: [[String]: JSONTree] = [:]

  mutating func set(_ json: String, at path: String) {
    application[path.split(separator: "/").map(String.init)] = JSONTree(Data(json.utf8))
  }

  mutating func reply(to request: ReceivedRequest, _ names: [String], of user: String) -> Reply? {
    switch names.first {
    case "global": Self.reply(to: request, Array(names.dropFirst()), in: &application, above: [])
    case "currentuser" where names.count > 2 && names[1] == "devices":
      Self.reply(
        to: request, Array(names.dropFirst(3)), in: &devices[[user, names[2]], default: .object([:])],
        above: [users[user] ?? .object([:]), application])
    case "currentuser":
      Self.reply(
        to: request, Array(names.dropFirst()), in: &users[user, default: .object([:])], above: [application])
    default: nil
    }
  }

  private static func reply(
    to request: ReceivedRequest, _ path: [String], in tree: inout JSONTree, above levels: [JSONTree]
  ) -> Reply {
    switch request.method {
    case .get:
      let asked = request.target.contains("overwrite=true") ? [tree] + levels : [tree]
      let values = asked.compactMap { $0[path] }
      guard let nearest = values.first else { return .status(.notFound) }
      return (try? .json(encoding: values.dropFirst().reduce(nearest) { $0.over($1) })) ?? .status(.internalServerError)
    case .put, .post, .patch:
      guard let value = JSONTree(request.body) else { return .status(.badRequest) }
      tree[path] = request.method == .patch ? value.over(tree[path] ?? .object([:])) : value
      return .status(.noContent)
    case .delete:
      guard tree[path] != nil else { return .status(.notFound) }
      tree[path] = nil
      return .status(.noContent)
    default: return .status(.methodNotAllowed)
    }
  }
}

/// A value of JSON.
indirect enum JSONTree: Codable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case list([JSONTree])
  case object([String: JSONTree])

  /// Reads bytes; nil if they are not JSON.
  init?(_ data: Data) {
    guard let value = try? JSONDecoder().decode(JSONTree.self, from: data) else { return nil }
    self = value
  }

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let list = try? value.decode([JSONTree].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: JSONTree].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    switch self {
    case .null: try value.encodeNil()
    case .bool(let bool): try value.encode(bool)
    case .number(let number): try value.encode(number)
    case .text(let text): try value.encode(text)
    case .list(let list): try value.encode(list)
    case .object(let members): try value.encode(members)
    }
  }

  /// The value at a path of members. Setting it makes the objects on the way.
  subscript(path: [String]) -> JSONTree? {
    get {
      guard let name = path.first else { return self }
      guard case .object(let members) = self else { return nil }
      return members[name]?[Array(path.dropFirst())]
    }
    set {
      guard let name = path.first else {
        self = newValue ?? .object([:])
        return
      }
      var members: [String: JSONTree] = if case .object(let present) = self { present } else { [:] }
      if path.count == 1 {
        members[name] = newValue
      } else {
        members[name, default: .object([:])][Array(path.dropFirst())] = newValue
      }
      self = .object(members)
    }
  }

  /// Returns this value with the members that only the other has.
  func over(_ other: JSONTree) -> JSONTree {
    guard case .object(let members) = self, case .object(let others) = other else { return self }
    return .object(members.merging(others) { $0.over($1) })
  }
}
