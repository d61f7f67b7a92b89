import NightshiftAPI

/// What is known of gpsd, and what its connection is for.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct GpsdSide: Equatable {
    enum Step: Equatable {
        case none
        /// In place of a connection that is there.
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
    /// What the connection is for; nil where there is none.
    private(set) var purpose: GpsdConnection.Purpose?
    /// When a connection that has failed is tried again.
    private(set) var retry: Double?
    private var knowledge = Knowledge.nothing
    private var release = ""
    /// Whether the connection that is there leads to gpsd.
    private var hasGreeted = false
    private var hasFailed = false
    private var hasBeenReached = false
    private var pause = Self.firstPause

    static let firstPause = 1.0
    static let longestPause = 32.0

    init(address: GpsdAddress) {
        self.address = address
    }

    /// Whether it has said what receivers there are, since it was connected to.
    private(set) var isKnown = false

    /// Whether it tells by itself what becomes of its receivers.
    var isFollowed: Bool { purpose != nil && isKnown }

    /// Whether it has been asked for places, for which it switches the receiver on.
    var usesReceiver: Bool { purpose == .watch && hasGreeted }

    /// Whether there is an address at which to ask it.
    var isAsked: Bool { if case .host = address { true } else { false } }

    /// Whether it tells no places, as far as is known.
    var isUnable: Bool {
        guard isAsked else { return true }
        if purpose == nil { return hasFailed }
        return isKnown && !isAvailable
    }

    var isAvailable: Bool {
        if case .present(_, let devices) = knowledge { devices > 0 } else { false }
    }

    // MARK: - Inputs

    /// A fix is wanted: what has failed before is tried at once.
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

    /// The connection has ended, or was never made.
    mutating func ended(_ failure: GpsdFailure, now: Double) {
        knowledge = .absent(failure.text)
        isKnown = false
        hasFailed = true
        // One that was never there is not waited for.
        retry = purpose == .watch && hasBeenReached ? now + pause : nil
        pause = min(pause * 2, Self.longestPause)
        purpose = nil
    }

    /// It does not answer.
    mutating func isSilent() {
        if knowledge == .nothing || purpose != nil { knowledge = .silent }
    }

    // MARK: - Words

    var status: LocationStatus.SourceStatus {
        var status = LocationStatus.SourceStatus(name: "gpsd", isAvailable: isAvailable, sentence: sentence)
        if knowledge == .silent { status.isSilent = true }
        return status
    }

    private var sentence: String {
        switch address {
        case .off: return "It is not asked: NIGHTSHIFT_GPSD is none."
        case .unreadable(let text): return "It is not asked: NIGHTSHIFT_GPSD is '\(text)', not ADDRESS:PORT."
        case .host: break
        }
        switch knowledge {
        case .nothing: return "It was not asked yet."
        case .absent(let why):
            return "Nobody is at \(address.phrase) (\(why)). For a satellite receiver: sudo apt install gpsd."
        case .silent:
            return "What listens at \(address.phrase) does not answer as gpsd does. Restart it: "
                + "sudo systemctl restart gpsd.socket gpsd."
        case .present(let release, 0):
            return "gpsd \(release) has no receiver: connect one, or name its device in /etc/default/gpsd."
        case .present(let release, let devices):
            return "gpsd \(release) at \(address.phrase) has \(devices == 1 ? "a receiver" : "\(devices) receivers")."
        }
    }
}
