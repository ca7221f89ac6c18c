# The packages in a workspace of ROS 2: docker build -f docker/ros.Dockerfile -t puppet-ros .
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}
COPY . /workspace/src/puppet
WORKDIR /workspace
RUN apt-get update && rosdep update \
  && apt-get install -y --no-install-recommends python3-pip \
  && rosdep install --from-paths src --ignore-src -y \
  && pip install --break-system-packages -r src/puppet/docker/ros_pip.txt \
  && rm -rf /var/lib/apt/lists/*
RUN . "/opt/ros/${ROS_DISTRO}/setup.sh" && colcon build --packages-ignore tf2_msgs
CMD ["bash", "-c", ". install/setup.bash && ros2 launch puppet_bringup sim.launch.py"]
