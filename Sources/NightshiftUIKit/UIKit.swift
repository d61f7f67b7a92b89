public import Foundation
@_exported public import Nightshift

// UIKit's names for what an app without windows needs of it.

public typealias UIApplication = Application
public typealias UIApplicationDelegate = ApplicationDelegate
public typealias UIBackgroundTaskIdentifier = BackgroundTaskIdentifier
public typealias UIBackgroundFetchResult = BackgroundFetchResult
public typealias UIBackgroundRefreshStatus = BackgroundRefreshStatus

/// The name of `UIBackgroundTaskIdentifier.invalid` that Apple's articles still use.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let UIBackgroundTaskInvalid = UIBackgroundTaskIdentifier.invalid

/// The class that Xcode's template lets an app delegate inherit from; nothing is handled here.
///
/// `main()` makes the delegate, so its own initialiser is a required one: `required override init()`, which compiles on Apple's systems
/// too, instead of `override init()`.
@preconcurrency @MainActor open class UIResponder: NSObject {
    public nonisolated required override init() {
        super.init()
    }
}
