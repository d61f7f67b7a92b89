package import Foundation

/// Everything that is asked of one new task. What is nil is taken from its session.
package struct TaskRequest: Hashable, Sendable, Codable {
    package var kind: TaskKind
    /// An http or https URL; characters outside ASCII are encoded as browsers do. Not needed with ``resumeData``.
    package var url: String?
    /// GET for downloads, POST for forms and PUT for other uploads unless given.
    package var method: String?
    package var headers: [HeaderField]?
    /// What a download sends along with its request: a query in JSON, a form's fields. Not with GET and HEAD.
    package var body: Data?
    package var credential: Credential?
    /// The absolute path of the file to upload.
    package var source: String?
    /// The fields of a form to upload (multipart/form-data), in place of ``source``.
    package var form: [FormField]?
    package var resumption: ResumptionProtocol?
    package var snapshot: SnapshotPolicy?
    /// Where a download goes; without one it stays with the service until its owner fetches or removes it.
    package var destination: Destination?
    package var checksum: Checksum?
    /// Other URLs of the same file. Used where the size and a strong validator agree with the first, or the size and the
    /// ``checksum`` that was asked for.
    package var mirrors: [String]?
    /// Connections for this download, whatever its session allows; nil leaves it to measuring, within that.
    package var connections: Int?
    /// 0...1; 0.5 unless given.
    package var priority: Double?
    /// Bytes per second; nil is unlimited.
    package var rateLimit: Int64?
    package var earliestBeginDate: Date?
    /// Seconds without a byte until an exchange is broken off and retried.
    package var idleTimeout: Double?
    /// Seconds from now, asleep or not, until the task fails.
    package var resourceTimeout: Double?
    package var countOfBytesClientExpectsToSend: Int64?
    package var countOfBytesClientExpectsToReceive: Int64?
    package var description: String?
    package var retryPolicy: RetryPolicy?
    /// Whether a final status outside 200...299 fails the task instead of being its result.
    package var failsOnHTTPError: Bool?
    package var proxy: String?
    /// The variable of the caller's environment that has named ``proxy``: errors of the proxy say it.
    package var proxyVariable: String?
    package var tls: TLSSettings?
    /// Waits for a good moment (Apple: isDiscretionary).
    package var isDiscretionary: Bool?
    package var allowsCellularAccess: Bool?
    package var allowsExpensiveNetworkAccess: Bool?
    package var allowsConstrainedNetworkAccess: Bool?
    package var requiresExternalPower: Bool?
    /// Percent below which it does not run on battery; 0...100.
    package var minimumBattery: Double?
    /// Whether cookies that redirects set go along to where these lead; nil: unless the task is an app's.
    package var handlesCookies: Bool?
    /// Created suspended, to be resumed by its owner, as URLSession's tasks are.
    package var suspended: Bool?
    /// Continues a cancelled task from the token its cancelling gave. Single use.
    package var resumeData: String?
    /// What happens where a task that has not ended was requested in the same way; ``SameTask/new`` unless given.
    package var ifSame: SameTask?

    package init(kind: TaskKind = .download, url: String? = nil) {
        self.kind = kind
        self.url = url
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = try container.decodeIfPresent(TaskKind.self, forKey: .kind) ?? .download
        url = try container.decodeIfPresent(String.self, forKey: .url)
        method = try container.decodeIfPresent(String.self, forKey: .method)
        headers = try container.decodeIfPresent([HeaderField].self, forKey: .headers)
        body = try container.decodeIfPresent(Data.self, forKey: .body)
        credential = try container.decodeIfPresent(Credential.self, forKey: .credential)
        source = try container.decodeIfPresent(String.self, forKey: .source)
        form = try container.decodeIfPresent([FormField].self, forKey: .form)
        resumption = try container.decodeIfPresent(ResumptionProtocol.self, forKey: .resumption)
        snapshot = try container.decodeIfPresent(SnapshotPolicy.self, forKey: .snapshot)
        destination = try container.decodeIfPresent(Destination.self, forKey: .destination)
        checksum = try container.decodeIfPresent(Checksum.self, forKey: .checksum)
        mirrors = try container.decodeIfPresent([String].self, forKey: .mirrors)
        connections = try container.decodeIfPresent(Int.self, forKey: .connections)
        priority = try container.decodeIfPresent(Double.self, forKey: .priority)
        rateLimit = try container.decodeIfPresent(Int64.self, forKey: .rateLimit)
        earliestBeginDate = try container.decodeIfPresent(Date.self, forKey: .earliestBeginDate)
        idleTimeout = try container.decodeIfPresent(Double.self, forKey: .idleTimeout)
        resourceTimeout = try container.decodeIfPresent(Double.self, forKey: .resourceTimeout)
        countOfBytesClientExpectsToSend = try container.decodeIfPresent(
            Int64.self, forKey: .countOfBytesClientExpectsToSend)
        countOfBytesClientExpectsToReceive = try container.decodeIfPresent(
            Int64.self, forKey: .countOfBytesClientExpectsToReceive)
        description = try container.decodeIfPresent(String.self, forKey: .description)
        retryPolicy = try container.decodeIfPresent(RetryPolicy.self, forKey: .retryPolicy)
        failsOnHTTPError = try container.decodeIfPresent(Bool.self, forKey: .failsOnHTTPError)
        proxy = try container.decodeIfPresent(String.self, forKey: .proxy)
        proxyVariable = try container.decodeIfPresent(String.self, forKey: .proxyVariable)
        tls = try container.decodeIfPresent(TLSSettings.self, forKey: .tls)
        isDiscretionary = try container.decodeIfPresent(Bool.self, forKey: .isDiscretionary)
        allowsCellularAccess = try container.decodeIfPresent(Bool.self, forKey: .allowsCellularAccess)
        allowsExpensiveNetworkAccess = try container.decodeIfPresent(Bool.self, forKey: .allowsExpensiveNetworkAccess)
        allowsConstrainedNetworkAccess = try container.decodeIfPresent(
            Bool.self, forKey: .allowsConstrainedNetworkAccess)
        requiresExternalPower = try container.decodeIfPresent(Bool.self, forKey: .requiresExternalPower)
        minimumBattery = try container.decodeIfPresent(Double.self, forKey: .minimumBattery)
        handlesCookies = try container.decodeIfPresent(Bool.self, forKey: .handlesCookies)
        suspended = try container.decodeIfPresent(Bool.self, forKey: .suspended)
        resumeData = try container.decodeIfPresent(String.self, forKey: .resumeData)
        ifSame = try container.decodeIfPresent(SameTask.self, forKey: .ifSame)
    }
}

/// A name and password for Basic or Digest authentication, sent to the request's own origin only.
package struct Credential: Hashable, Sendable, Codable {
    package var user: String
    package var password: String
    package var scheme: Scheme?

    package enum Scheme: String, Sendable, Codable, CaseIterable {
        /// What the server offers, the safest first.
        case any
        case basic
        case digest
    }

    package init(user: String, password: String, scheme: Scheme? = nil) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }
}

/// Where a finished download goes.
package struct Destination: Hashable, Sendable, Codable {
    /// An absolute path.
    package var directory: String
    /// Without one, the name is taken from the response or the URL.
    package var filename: String?
    /// Whether a file of that name is replaced. Otherwise ``ifTaken`` says what happens.
    package var overwrite: Bool?
    /// What happens where the ``filename`` is taken; ``TakenName/number`` unless given.
    package var ifTaken: TakenName?
    /// The umask of the caller who asks for the file, in octal digits: "022". The service's own unless given.
    package var umask: String?

    package init(
        directory: String, filename: String? = nil, overwrite: Bool? = nil, ifTaken: TakenName? = nil,
        umask: String? = nil
    ) {
        self.directory = directory
        self.filename = filename
        self.overwrite = overwrite
        self.ifTaken = ifTaken
        self.umask = umask
    }

    /// ``umask`` as a number; nil where it is none.
    package var mask: UInt32? {
        guard let umask, (1...4).contains(umask.utf8.count), umask.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mask = UInt32(umask, radix: 8), mask <= 0o777
        else { return nil }
        return mask
    }

    /// The path of the file; nil where its name is not known before the response.
    package var path: String? {
        guard let filename else { return nil }
        return directory.utf8.last == UInt8(ascii: "/") ? directory + filename : "\(directory)/\(filename)"
    }

    /// Whether the download takes this name or none.
    package var isExact: Bool { filename != nil && (ifTaken ?? .number) != .number }
}

/// What happens where another task that has not ended, or a file, has the name that a download asks for.
package enum TakenName: String, Sendable, Codable, CaseIterable {
    /// The download takes the next free name.
    case number
    /// The request is refused. Where a file appears later, the download fails and its bytes are kept.
    case refuse
    /// As ``refuse``, but a request that is the same as that of the other task is joined to it.
    case join
}

/// What happens where a task of the session that has not ended was requested in the same way.
package enum SameTask: String, Sendable, Codable, CaseIterable {
    /// A new task is made.
    case new
    /// No task is made, and the id of the other one is the answer.
    case join
    /// As ``join``, but only where the other one is suspended.
    case joinSuspended
}

/// What the whole file has to hash to.
package struct Checksum: Hashable, Sendable, Codable {
    package var algorithm: Algorithm
    /// Lower-case hexadecimal digits.
    package var hex: String

    package enum Algorithm: String, Sendable, Codable, CaseIterable {
        case md5
        case sha1 = "sha-1"
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        /// The length of the digest in hexadecimal digits.
        package var hexLength: Int {
            switch self {
            case .md5: 32
            case .sha1: 40
            case .sha256: 64
            case .sha384: 96
            case .sha512: 128
            }
        }
    }

    package init(algorithm: Algorithm, hex: String) {
        self.algorithm = algorithm
        self.hex = hex
    }
}

/// Which responses are taken for trouble on the way and tried again.
package enum RetryPolicy: String, Sendable, Codable, CaseIterable {
    /// None: the response is the result, as with URLSession.
    case never
    /// 408, 425, 429 and every 5xx but 501 and 505.
    case transientResponses
}

/// What a task or session trusts and shows besides the system's trust store.
package struct TLSSettings: Hashable, Sendable, Codable {
    /// A PEM file whose certificates are trusted in place of the system's.
    package var certificateAuthority: String?
    /// A PEM file with the client's certificate chain.
    package var clientCertificate: String?
    /// A PEM file with the client's key, where it is not in the certificate's file.
    package var clientKey: String?
    /// The oldest version that is spoken with the server; 1.2 unless given.
    package var minimumVersion: TLSVersion?
    /// The newest version that is spoken with the server; no bound unless given.
    package var maximumVersion: TLSVersion?

    package init(
        certificateAuthority: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
        minimumVersion: TLSVersion? = nil, maximumVersion: TLSVersion? = nil
    ) {
        self.certificateAuthority = certificateAuthority
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
    }

    /// These settings, and of others what these say nothing about: the files belong together, and so do the versions.
    package func filled(from others: TLSSettings?) -> TLSSettings {
        guard let others else { return self }
        var filled = self
        if certificateAuthority == nil, clientCertificate == nil, clientKey == nil {
            filled.certificateAuthority = others.certificateAuthority
            filled.clientCertificate = others.clientCertificate
            filled.clientKey = others.clientKey
        }
        if minimumVersion == nil, maximumVersion == nil {
            filled.minimumVersion = others.minimumVersion
            filled.maximumVersion = others.maximumVersion
        }
        return filled
    }
}

/// A version of TLS; older ones are never spoken.
package enum TLSVersion: String, Sendable, Codable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}
