// swift-tools-version: 6.2
import PackageDescription

// The slideshow, an application of Martlet: model, demo service, terminal front end.
let package = Package(
  name: "Slideshow",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..")],
  targets: [
    // What the slideshow is and how it is fetched; nothing of how it is shown.
    .target(
      name: "SlideshowModel",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletSQLite", package: "Martlet"),
      ]),
    // A web service to look at, for those who have none.
    .target(
      name: "SlideshowService",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
      ]),
    // How it is shown and steered in a terminal.
    .target(
      name: "SlideshowTerminal",
      dependencies: [
        "SlideshowModel",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
      ]),
    .executableTarget(
      name: "slideshow",
      dependencies: [
        "SlideshowModel", "SlideshowService", "SlideshowTerminal",
        .product(name: "Martlet", package: "Martlet"),
      ]),
    .testTarget(
      name: "SlideshowTests",
      dependencies: [
        "SlideshowModel", "SlideshowService", "SlideshowTerminal",
        .product(name: "MartletTesting", package: "Martlet"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
