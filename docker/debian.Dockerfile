# ./puppet on plain Debian, where ROS 2 comes as Python wheels.
# docker build -f docker/debian.Dockerfile -t puppet . && docker run --rm --network host puppet
FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    ca-certificates cmake g++ git make python3-dev python3-venv \
  && rm -rf /var/lib/apt/lists/*
COPY . /puppet
WORKDIR /puppet
RUN ./puppet setup
CMD ["./puppet", "demo"]
