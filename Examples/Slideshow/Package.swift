// swift-tools-version: 6.2
import PackageDescription

// The slideshow, an application of Martlet: model, demo service, terminal and window.
let package = Package(
  name: "Slideshow",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..")],
  targets: [
    // The content of the slideshow, its loading and its commands, independent of terminals and windows.
    .target(
      name: "SlideshowModel",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletSQLite", package: "Martlet"),
      ]),
    // A web service for a demonstration without one.
    .target(
      name: "SlideshowService",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
      ]),
    // The steps of the programs before they show anything.
    .target(
      name: "SlideshowLaunch",
      dependencies: [
        "SlideshowModel", "SlideshowService",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletInspector", package: "Martlet"),
        .product(name: "MartletSockets", package: "Martlet", condition: .when(platforms: [.linux])),
      ]),
    // Display and control in a terminal.
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
        "SlideshowLaunch", "SlideshowModel", "SlideshowService", "SlideshowTerminal",
        .product(name: "Martlet", package: "Martlet"),
      ]),
    .testTarget(
      name: "SlideshowTests",
      dependencies: [
        "SlideshowLaunch", "SlideshowModel", "SlideshowService", "SlideshowTerminal",
        .product(name: "MartletTesting", package: "Martlet"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// The window needs GTK 4, which nothing else does. It is built only on request, such as by `make slideshow-window`.
if Context.environment["SLIDESHOW_WINDOW"] != nil {
  package.targets += [
    .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
    .executableTarget(
      name: "slideshow-window",
      dependencies: [
        "CGTK", "SlideshowLaunch", "SlideshowModel",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
      ]),
  ]
}

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
