import Dispatch
import Executors
public import Foundation
import NightshiftAPI

/// The object that represents this app. An application has the app's state, and receives the service's requests for
/// background work.
///
/// A program without an `Application` can also have background sessions, but the service never launches such a program
/// for its sessions.
///
/// This class is isolated to the main actor, like `UIApplication`. Code in Swift 5 mode compiles even if it uses the
/// class outside the main actor, but such code must run on the main thread.
@preconcurrency @MainActor public final class Application {
    public nonisolated static let shared = Application(connection: .shared)

    /// The delegate of the app. Unlike in UIKit, the reference is strong.
    public var delegate: (any ApplicationDelegate)?
    /// The current state of the app. An app in the background may be suspended at any time.
    public private(set) var applicationState = State.inactive
    let connection: ServiceConnection
    private var isLaunched = false
    /// Whether the library has already printed the warning that the delegate's method for background fetches is never
    /// called.
    var hasAdvisedFetchMethod = false
    /// The names of the delegate's notification methods for which the library has already printed the warning that they
    /// are never called.
    var advisedNotificationMethods: Set<String> = []
    /// The identifiers of the notifications that the app was launched for.
    private(set) var launchNotifications: Set<String> = []

    public enum State: Int, Sendable {
        case active = 0
        case inactive = 1
        case background = 2
    }

    /// A key of the options that the delegate gets at launch.
    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The key of a value that is `true` if the service launched the app in the background.
        public static let isBackgroundLaunch = LaunchOptionsKey(rawValue: "NightshiftIsBackgroundLaunch")
    }

    package nonisolated init(connection: ServiceConnection) {
        self.connection = connection
    }

    /// The longest time that a background thread waits for the first connection during a launch. The library continues
    /// its attempts to connect after this time.
    private nonisolated static let launchTimeout: Duration = .seconds(10)

    /// Launches the app and serves the main thread until the process ends.
    public func run() -> Never {
        launch(environment: ProcessInfo.processInfo.environment)
        while true { RunLoop.main.run(until: .distantFuture) }
    }

    /// Launches the app like ``run()``, but returns instead of serving the main thread. Use this method in programs
    /// that serve the main thread themselves.
    ///
    /// Only the first call has an effect.
    public func launch() {
        launch(environment: ProcessInfo.processInfo.environment)
    }

    package func launch(environment: [String: String]) {
        guard !isLaunched else { return }
        isLaunched = true
        // Commands that arrive before the delegate is notified of the launch are queued on the main thread, after this
        // function.
        connection.commands.setReceiver(self)
        WorkQueue.start { [connection] in
            _ = try? connection.openChannel(until: .now + Self.launchTimeout)
        }
        let isBackgroundLaunch = environment["NIGHTSHIFT_LAUNCH"] == "background"
        if isBackgroundLaunch {
            applicationState = .background
            connection.backgroundTasks.appIs(inBackground: true)
        }
        let notifications = LaunchNotifications(environment: environment)
        launchNotifications = notifications.identifiers
        var options: [LaunchOptionsKey: Any] = [:]
        if isBackgroundLaunch { options[.isBackgroundLaunch] = true }
        if let notification = notifications.remoteNotification { options[.remoteNotification] = notification }
        if Self.isLaunchedForLocation(environment) { options[.location] = true }
        _ = delegate?.application(self, didFinishLaunchingWithOptions: options.isEmpty ? nil : options)
        NotificationCenter.default.post(name: Self.didFinishLaunchingNotification, object: self)
        connection.wakes.launchEnded()
        connection.presenter.launchEnded()
        guard !isBackgroundLaunch else { return }
        enter(.active)
        // The service knows about the launches that it made. If the app reported such a launch too, the report would
        // undo state changes that the user has made since the launch.
        if environment["NIGHTSHIFT_APP"] == nil { connection.commands.report(.active) }
    }

    // MARK: - The window system

    /// Records that the app entered the foreground. Call this method when the window system has brought the app to the
    /// foreground.
    public func enterForeground() {
        enter(.active)
        connection.commands.report(.active)
    }

    /// Records that the app entered the background. Call this method when the app is no longer visible. The service may
    /// suspend the app soon afterwards.
    public func enterBackground() {
        enter(.background)
        connection.commands.report(.background)
    }

    func complete(_ session: String, _ completionHandler: @escaping @Sendable () -> Void) {
        connection.commands.complete(session, completionHandler)
    }

    // MARK: - States

    private func enter(_ new: State) {
        guard new != applicationState else { return }
        // The state is set before the delegate is notified. If the delegate then begins a task, the task is begun in
        // the new state.
        connection.backgroundTasks.appIs(inBackground: new == .background)
        if applicationState == .active {
            delegate?.applicationWillResignActive(self)
            post(Self.willResignActiveNotification)
            applicationState = .inactive
        } else if applicationState == .background {
            delegate?.applicationWillEnterForeground(self)
            post(Self.willEnterForegroundNotification)
            applicationState = .inactive
        }
        guard new != .inactive else { return }
        applicationState = new
        if new == .active {
            delegate?.applicationDidBecomeActive(self)
            post(Self.didBecomeActiveNotification)
        } else {
            delegate?.applicationDidEnterBackground(self)
            post(Self.didEnterBackgroundNotification)
        }
    }

    fileprivate func post(_ name: Notification.Name) {
        NotificationCenter.default.post(name: name, object: self)
    }
}

extension Application: nonisolated CommandReceiver {
    nonisolated func onMain(_ body: @escaping @MainActor @Sendable (Application) -> Void) {
        DispatchQueue.main.async { [self] in MainActor.assumeIsolated { body(self) } }
    }

    nonisolated func enter(_ state: AppState, done: @escaping @Sendable () -> Void) {
        onMain { application in
            switch state {
            case .active: application.enter(.active)
            case .inactive: application.enter(.inactive)
            case .background: application.enter(.background)
            // A running process cannot enter these states.
            case .suspended, .notRunning: break
            }
            WorkQueue.start(done)
        }
    }

    nonisolated func handleEvents(
        of session: String, completion: @escaping @Sendable () -> Void, told: @escaping @Sendable () -> Void
    ) {
        onMain { application in
            if let delegate = application.delegate {
                delegate.application(
                    application, handleEventsForBackgroundURLSession: session, completionHandler: completion)
            } else {
                application.complete(session, completion)
            }
            WorkQueue.start(told)
        }
    }

    nonisolated func performFetch(completion: @escaping @Sendable (RefreshResult) -> Void) {
        onMain { application in
            guard let delegate = application.delegate else { return completion(.noData) }
            delegate.application(application, performFetchWithCompletionHandler: { completion($0.result) })
        }
    }

    nonisolated func refreshStatusChanged() {
        onMain { application in application.post(Application.backgroundRefreshStatusDidChangeNotification) }
    }

    nonisolated func takeSnapshot(done: @escaping @Sendable (Data?) -> Void) {
        onMain { application in done(application.delegate?.applicationSnapshot(application)) }
    }

    nonisolated func willTerminate(done: @escaping @Sendable () -> Void) {
        onMain { application in
            application.delegate?.applicationWillTerminate(application)
            application.post(Application.willTerminateNotification)
            WorkQueue.start(done)
        }
    }
}

extension Application {
    // These names are the same as in UIKit.
    public nonisolated static let didFinishLaunchingNotification = Notification.Name(
        "UIApplicationDidFinishLaunchingNotification")
    public nonisolated static let didBecomeActiveNotification = Notification.Name(
        "UIApplicationDidBecomeActiveNotification")
    public nonisolated static let willResignActiveNotification = Notification.Name(
        "UIApplicationWillResignActiveNotification")
    public nonisolated static let didEnterBackgroundNotification = Notification.Name(
        "UIApplicationDidEnterBackgroundNotification")
    public nonisolated static let willEnterForegroundNotification = Notification.Name(
        "UIApplicationWillEnterForegroundNotification")
    /// The name of a notification that is never posted, because Linux does not notify programs before memory runs out.
    public nonisolated static let didReceiveMemoryWarningNotification = Notification.Name(
        "UIApplicationDidReceiveMemoryWarningNotification")
    public nonisolated static let willTerminateNotification = Notification.Name(
        "UIApplicationWillTerminateNotification")
}
