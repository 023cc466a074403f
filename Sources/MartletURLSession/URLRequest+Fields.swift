package import MartletSemantics

#if canImport(FoundationNetworking)
package import FoundationNetworking
#else
package import Foundation
#endif

extension URLRequest {
  /// The fields, sorted by name, because a dictionary has no order.
  package var fields: HTTPFields {
    var fields = HTTPFields()
    for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.append(value, forName: name)
    }
    return fields
  }

  /// Puts these fields in the place of all others, several lines of a name joined into one.
  package mutating func setFields(_ fields: HTTPFields, leavingOut excluded: Set<FieldName> = []) {
    for name in (allHTTPHeaderFields ?? [:]).keys { setValue(nil, forHTTPHeaderField: name) }
    for (name, _) in fields where !excluded.contains(name) {
      setValue(fields[name], forHTTPHeaderField: name.rawName)
    }
  }
}
