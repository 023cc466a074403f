// swift-tools-version: 6.2
import PackageDescription

// The slideshow, an application of Martlet: model, demo service, terminal and window.
let package = Package(
  name: "Slideshow",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..")],
  targets: [
    // What the slideshow is, how it is fetched, and what can be done with it; nothing of terminals and windows.
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
    // What the programs do before they show anything.
    .target(
      name: "SlideshowLaunch",
      dependencies: [
        "SlideshowModel", "SlideshowService",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
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

// The window needs GTK 4, which nothing else does: it is there only where it is asked for, as `make slideshow-window` does.
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
