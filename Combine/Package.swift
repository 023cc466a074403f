// swift-tools-version: 6.3
import PackageDescription

// A module named `Combine` for Linux, so that code from Apple's platforms moves without an edit of its imports. It is a
// package of its own, which only programs for Linux name: there it can never meet Apple's module.
let package = Package(
  name: "Combine",
  products: [.library(name: "Combine", targets: ["Combine"])],
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    .target(
      name: "Combine",
      dependencies: [
        .product(name: "MartletCombine", package: "Martlet"),
        .product(name: "MartletCombineFoundation", package: "Martlet"),
      ]),
    .testTarget(name: "CombineTests", dependencies: ["Combine"], swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
