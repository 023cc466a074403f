#if canImport(Darwin)
public import MartletSemantics

extension PublicSuffixes {
  /// The rule for Apple's platforms, which give programs no Public Suffix List: a name without a dot is a public suffix,
  /// and nothing else. It stops a cookie for `com`, but not one for `co.uk`; who needs that brings a list.
  public static let system = PublicSuffixes.singleLabels
}
#endif
