// swift-tools-version: 6.3
import PackageDescription

let features: [SwiftSetting] = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].map {
  .enableUpcomingFeature($0)
}
// Async functions stay on their caller's actor unless `@concurrent`; tests are compiled like most users' programs.
let settings = features + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
// The families share one package name, so that the tests of each can use the `package` declarations of Client/Support.
let packageName: [SwiftSetting] = [.unsafeFlags(["-package-name", "martlet"])]

extension Target {
  /// A module that sees none of the client's `package` declarations.
  static func outside(name: String, dependencies: [Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
  }

  static func tests(
    name: String, dependencies: [Dependency], exclude: [String] = [], resources: [Resource] = []
  ) -> Target {
    .testTarget(
      name: name, dependencies: dependencies, exclude: exclude, resources: resources, packageAccess: false,
      swiftSettings: features + packageName)
  }
}

/// Modules of another family.
func from(_ family: String, _ modules: String...) -> [Target.Dependency] {
  modules.map { .product(name: $0, package: family) }
}

let package = Package(
  name: "Images",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: ["MartletImages"].map { .library(name: $0, targets: [$0]) },
  dependencies: [.package(path: "../Client"), .package(path: "../Publishers")],
  targets: [
    .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"])]),
    .systemLibrary(name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
    .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
    .systemLibrary(name: "CWebPDemux", pkgConfig: "libwebpdemux", providers: [.apt(["libwebp-dev"])]),
    .systemLibrary(name: "CGIF", pkgConfig: "libgif", providers: [.apt(["libgif-dev"])]),
    .systemLibrary(name: "CLittleCMS", pkgConfig: "lcms2", providers: [.apt(["liblcms2-dev"])]),
    .outside(
      name: "MartletImages",
      dependencies: ["CGIF", "CJPEG", "CLittleCMS", "CPNG", "CTurboJPEG", "CWebP", "CWebPDemux"]
        + from("Client", "CZlib", "MartletSemantics", "MartletEngine", "Martlet")
        + from("Publishers", "MartletCombine")),
    .tests(
      name: "MartletImagesTests",
      dependencies: ["MartletImages"]
        + from("Client", "MartletSemantics", "MartletEngine", "Martlet", "MartletTesting", "TestSupport")
        + from("Publishers", "MartletCombine"),
      exclude: ["Fixtures"]),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets where target.type == .system { target.path = "Sources/System/" + target.name }
