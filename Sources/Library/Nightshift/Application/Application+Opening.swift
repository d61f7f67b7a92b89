public import Foundation
import NightshiftClient

// This extension has UIKit's methods for opening URLs. A URL is opened with the program that the desktop has registered
// for its scheme.
extension Application {
    /// A key of the options of ``open(_:options:completionHandler:)``. The keys have the same names as in UIKit.
    public struct OpenExternalURLOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The key of an option to open the URL only as a universal link. Desktops have no universal links, so nothing
        /// is opened if the value is true.
        public static let universalLinksOnly = OpenExternalURLOptionsKey(
            rawValue: "UIApplicationOpenURLOptionUniversalLinksOnly")
    }

    /// The URL that opens `nightshift page`, where the user sets the permissions of apps. The URL is the same as in
    /// UIKit.
    public nonisolated static let openSettingsURLString = "app-settings:"

    /// Returns whether the desktop has a program for the URL's scheme, according to `xdg-mime`. The result is false if
    /// `xdg-mime` is not installed. This method blocks the thread for at most 2 s.
    public func canOpenURL(_ url: URL) -> Bool {
        guard let scheme = url.scheme?.lowercased(), !scheme.isEmpty else { return false }
        return Self.isSettings(url) ? opener.hasPage : opener.hasProgram(forScheme: scheme)
    }

    /// Opens a URL with the desktop's program for it, using `xdg-open`.
    ///
    /// - Parameters:
    ///   - options: The options. If ``OpenExternalURLOptionsKey/universalLinksOnly`` is true, nothing is opened.
    ///   - completion: A handler that is called on the main thread. Its argument is true if a program was found and did
    ///     not fail immediately.
    public func open(
        _ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:],
        completionHandler completion: (@MainActor @Sendable (Bool) -> Void)? = nil
    ) {
        let isForLinksOnly = options[.universalLinksOnly] as? Bool == true
        Task { [opener] in
            let isOpen = isForLinksOnly ? false : await Self.open(url, by: opener)
            completion?(isOpen)
        }
    }

    /// Opens a URL with the desktop's program for it, using `xdg-open`.
    ///
    /// - Returns: True if a program was found and did not fail immediately.
    @discardableResult
    public func open(_ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:]) async -> Bool {
        guard options[.universalLinksOnly] as? Bool != true else { return false }
        return await Self.open(url, by: opener)
    }

    private static func open(_ url: URL, by opener: URLOpener) async -> Bool {
        // A URL without a scheme would be read as a file name or as an option.
        guard url.scheme?.isEmpty == false else { return false }
        let isOpen =
            isSettings(url)
            ? try? await opener.openPage(log: "/dev/null")
            : try? await opener.open(url.absoluteString, log: "/dev/null")
        return isOpen ?? false
    }

    private static func isSettings(_ url: URL) -> Bool { url.scheme?.lowercased() == "app-settings" }

    private var opener: URLOpener { URLOpener(environment: ProcessInfo.processInfo.environment) }
}
