// swift-tools-version: 6.2
import PackageDescription

// These are packages of other developers who bring the code of an iOS app, written in the usual way. They only add the
// library. There is one program for each language mode. README.md describes how to add a situation.
func library(_ name: String) -> Target.Dependency { .product(name: name, package: "nightshift") }
let nightshift = library("Nightshift")
let uiKit = library("NightshiftUIKit")
// Using a member that works on Linux must not cause a warning.
let quiet: SwiftSetting = .treatWarning("DeprecatedDeclaration", as: .error)

// These are the sources of an app for iOS, with all imports unchanged.
let modules = ["UIKit", "BackgroundTasks", "CoreLocation", "UserNotifications"]
let aliases: SwiftSetting = .unsafeFlags(
    modules.flatMap { ["-module-alias", "\($0)=Nightshift\($0)"] }
        + ["-Xfrontend", "-import-module", "-Xfrontend", "Nightshift"])

let package = Package(
    name: "consumers",
    dependencies: [.package(name: "nightshift", path: "../..")],
    targets: [
        .target(name: "Harness", swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "consumer-v5", dependencies: ["Harness", nightshift, uiKit],
            swiftSettings: [.swiftLanguageMode(.v5), quiet, .define("BESIDE")]),
        .executableTarget(
            name: "readme", dependencies: [nightshift], swiftSettings: [.swiftLanguageMode(.v5), quiet]),
        .executableTarget(
            name: "consumer-v6", dependencies: ["Harness", nightshift, uiKit],
            swiftSettings: [.swiftLanguageMode(.v6), quiet]),
        .executableTarget(
            name: "consumer-ios5", dependencies: ["Harness", nightshift] + modules.map { library("Nightshift\($0)") },
            swiftSettings: [.swiftLanguageMode(.v5), quiet, aliases]),
        .executableTarget(
            name: "consumer-ios6", dependencies: ["Harness", nightshift] + modules.map { library("Nightshift\($0)") },
            swiftSettings: [.swiftLanguageMode(.v6), quiet, aliases]),
    ]
)
