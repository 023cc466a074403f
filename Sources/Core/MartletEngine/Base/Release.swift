/// The release of Martlet.
package enum Release {
  /// The version of the latest entry in the changelog; `scripts/check` compares them.
  package static let version = "0.1.0"
}
