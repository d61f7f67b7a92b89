// swift-tools-version: 6.2
import PackageDescription

// Packages of others, as anybody writes them who brings an iOS app's code: what they add is the library. One program for each
// language mode; README.md tells how to add a situation.
let nightshift: Target.Dependency = .product(name: "Nightshift", package: "nightshift")
let uiKit: Target.Dependency = .product(name: "NightshiftUIKit", package: "nightshift")
// A member that works here is used without a warning.
let quiet: SwiftSetting = .treatWarning("DeprecatedDeclaration", as: .error)

let package = Package(
    name: "consumers",
    dependencies: [.package(name: "nightshift", path: "../..")],
    targets: [
        .target(name: "Harness", swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "consumer-v5", dependencies: ["Harness", nightshift, uiKit],
            swiftSettings: [.swiftLanguageMode(.v5), quiet, .define("BESIDE")]),
        .executableTarget(
            name: "consumer-v6", dependencies: ["Harness", nightshift, uiKit],
            swiftSettings: [.swiftLanguageMode(.v6), quiet]),
    ]
)
