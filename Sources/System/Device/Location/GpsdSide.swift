import NightshiftAPI

/// The state of gpsd, and the purpose of the connection to it.
///
/// A pure value. Times are seconds of CLOCK_BOOTTIME.
struct GpsdSide: Equatable {
    enum Step: Equatable {
        case none
        /// Opens a connection, replacing an existing one.
        case open(GpsdConnection.Purpose)
        case close
    }

    private enum Knowledge: Equatable {
        case nothing
        case absent(String)
        case silent
        case present(release: String, devices: Int)
    }

    let address: GpsdAddress
    /// The purpose of the connection; nil while there is no connection.
    private(set) var purpose: GpsdConnection.Purpose?
    /// The time at which a failed connection is retried.
    private(set) var retry: Double?
    private var knowledge = Knowledge.nothing
    private var release = ""
    /// Whether gpsd has sent its greeting over the connection.
    private var hasGreeted = false
    private var hasFailed = false
    private var hasBeenReached = false
    private var pause = Self.firstPause

    static let firstPause = 1.0
    static let longestPause = 32.0

    init(address: GpsdAddress) {
        self.address = address
    }

    /// Whether gpsd has listed its receivers since the connection was made.
    private(set) var isKnown = false

    /// Whether gpsd reports changes of its receivers without a further request.
    var isFollowed: Bool { purpose != nil && isKnown }

    /// Whether the service requests fixes. gpsd switches the receiver on for such a request.
    var usesReceiver: Bool { purpose == .watch && hasGreeted }

    /// Whether the configuration has an address of gpsd.
    var isAsked: Bool { if case .host = address { true } else { false } }

    /// Whether gpsd is known to be unable to report fixes.
    var isUnable: Bool {
        guard isAsked else { return true }
        if purpose == nil { return hasFailed }
        return isKnown && !isAvailable
    }

    var isAvailable: Bool {
        if case .present(_, let devices) = knowledge { devices > 0 } else { false }
    }

    // MARK: - Inputs

    /// Handles a new demand for a fix: allows an immediate new attempt after a failed one.
    mutating func requestBegins() {
        hasFailed = false
        retry = nil
        pause = Self.firstPause
    }

    mutating func want(_ purpose: GpsdConnection.Purpose?, now: Double) -> Step {
        guard isAsked, purpose != self.purpose else { return .none }
        guard let purpose else {
            self.purpose = nil
            retry = nil
            hasFailed = false
            return .close
        }
        if purpose == .watch, self.purpose == nil, hasFailed {
            guard let due = retry, due <= now else { return .none }
        }
        self.purpose = purpose
        isKnown = false
        hasGreeted = false
        retry = nil
        return .open(purpose)
    }

    mutating func reported(_ report: GpsdReport) {
        switch report {
        case .version(let release):
            hasGreeted = true
            hasBeenReached = true
            hasFailed = false
            pause = Self.firstPause
            self.release = release
        case .devices(let count):
            isKnown = true
            knowledge = .present(release: release, devices: count)
        case .deviceActivated: if case .present(_, 0) = knowledge { knowledge = .present(release: release, devices: 1) }
        case .place, .other: break
        }
    }

    /// Handles the end of a connection or the failure of an attempt to connect.
    mutating func ended(_ failure: GpsdFailure, now: Double) {
        knowledge = .absent(failure.text)
        isKnown = false
        hasFailed = true
        // The connection is retried only if gpsd has been reached before.
        retry = purpose == .watch && hasBeenReached ? now + pause : nil
        pause = min(pause * 2, Self.longestPause)
        purpose = nil
    }

    /// Records that gpsd did not answer in time.
    mutating func isSilent() {
        if knowledge == .nothing || purpose != nil { knowledge = .silent }
    }

    // MARK: - Descriptions

    var status: LocationStatus.SourceStatus {
        var status = LocationStatus.SourceStatus(name: "gpsd", isAvailable: isAvailable, sentence: sentence)
        if knowledge == .silent { status.isSilent = true }
        return status
    }

    private var sentence: String {
        switch address {
        case .off: return "gpsd is not used, because NIGHTSHIFT_GPSD is none."
        case .unreadable(let text):
            return "gpsd is not used, because NIGHTSHIFT_GPSD is '\(text)'. Set it to ADDRESS:PORT."
        case .host: break
        }
        switch knowledge {
        case .nothing: return "gpsd has not been asked yet."
        case .absent(let why):
            return "gpsd cannot be reached at \(address.phrase) (\(why)). To use a satellite receiver: "
                + "sudo apt install gpsd."
        case .silent:
            return "The program at \(address.phrase) does not answer as gpsd does. Restart gpsd: "
                + "sudo systemctl restart gpsd.socket gpsd."
        case .present(let release, 0):
            return "gpsd \(release) has no receiver. Connect one, or name its device in /etc/default/gpsd."
        case .present(let release, let devices):
            return "gpsd \(release) at \(address.phrase) has \(devices == 1 ? "a receiver" : "\(devices) receivers")."
        }
    }
}
