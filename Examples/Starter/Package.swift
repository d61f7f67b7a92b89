// swift-tools-version: 5.9
import PackageDescription

let package = Package(
    name: "starter",
    // This is the address from which you cloned Nightshift. SwiftPM resolves and builds only Nightshift's library.
    dependencies: [.package(url: "https://example.org/nightshift.git", from: "0.2.0")],
    targets: [
        .executableTarget(
            name: "starter",
            dependencies: [.product(name: "Nightshift", package: "nightshift")]
            // Sources of an app for iOS compile with unchanged imports if their target has these flags and a dependency on the product
            // of each module that is named (docs/ios.md):
            // swiftSettings: [
            //     .unsafeFlags([
            //         "-module-alias", "UIKit=NightshiftUIKit",
            //         "-module-alias", "BackgroundTasks=NightshiftBackgroundTasks",
            //         "-module-alias", "CoreLocation=NightshiftCoreLocation",
            //         "-module-alias", "UserNotifications=NightshiftUserNotifications",
            //         "-Xfrontend", "-import-module", "-Xfrontend", "Nightshift",
            //     ])
            // ]
        )
    ]
)
