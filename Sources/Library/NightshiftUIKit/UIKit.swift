public import Foundation
@_exported public import Nightshift

// This file declares UIKit's names for the types that an app without windows needs.

public typealias UIApplication = Application
public typealias UIApplicationDelegate = ApplicationDelegate
public typealias UIBackgroundTaskIdentifier = BackgroundTaskIdentifier
public typealias UIBackgroundFetchResult = BackgroundFetchResult
public typealias UIBackgroundRefreshStatus = BackgroundRefreshStatus

/// The older name of `UIBackgroundTaskIdentifier.invalid`, which Apple's articles still use.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let UIBackgroundTaskInvalid = UIBackgroundTaskIdentifier.invalid

/// The base class of the app delegate in Xcode's template. It does not handle events.
///
/// `main()` makes the delegate. If a delegate has its own initialiser, the delegate must therefore declare it as
/// `required override init()` instead of `override init()`. This also compiles on Apple's systems.
@preconcurrency @MainActor open class UIResponder: NSObject {
    public nonisolated required override init() {
        super.init()
    }
}
